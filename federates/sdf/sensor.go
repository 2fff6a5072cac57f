package sdf

import "math"

// sensorTypes are those that Gazebo's reader knows.
var sensorTypes = []string{
	"air_pressure", "altimeter", "boundingbox_camera", "boundingbox", "camera", "contact", "custom", "depth", "depth_camera", "dvl", "air_speed",
	"force_torque", "gps", "gpu_lidar", "gpu_ray", "imu", "lidar", "logical_camera", "magnetometer", "multicamera", "navsat", "ray", "rfid", "rfidtag",
	"rgbd", "rgbd_camera", "segmentation", "segmentation_camera", "sonar", "thermal", "thermal_camera", "wide_angle_camera", "wideanglecamera",
	"wireless_receiver", "wireless_transmitter",
}

// pixelFormats are those that Gazebo's reader knows; pictures here have 8 bits of red, green and blue, whichever is asked for.
var pixelFormats = []string{
	"L8", "L16", "R8G8B8", "R8G8B8A8", "B8G8R8A8", "B8G8R8", "RGB_FLOAT16", "RGB_FLOAT32", "R_FLOAT16", "R_FLOAT32", "RGB_INT8", "L_INT8", "L_INT16",
	"RGB_INT16", "RGB_INT32", "BGRA_INT8", "BGR_INT8", "BGR_INT16", "BGR_INT32", "R_INT8", "BAYER_RGGB8", "BAYER_RGGR8", "BAYER_BGGR8", "BAYER_GBRG8", "BAYER_GRBG8",
}

// MaxPixels bounds the pictures of one camera: 8K.
const MaxPixels = 7680 * 4320

func (b builder) sensor(n *node) *Sensor {
	kind, _ := n.Attribute("type")
	if kind != "" {
		b.oneOf(n.Place, "the type of <sensor>", kind, sensorTypes...)
	}
	s := &Sensor{
		Place: n.Place, Name: n.name(), Type: kind, Pose: b.withinLink(n),
		UpdateRate: max(n.float("update_rate", 0), 0), Topic: n.text("topic", ""),
	}
	if c := n.child("camera"); c != nil && kind == "camera" {
		s.Camera = b.camera(c)
	}
	return s
}

func (b builder) camera(n *node) *Camera {
	pose, _ := n.pose()
	c := &Camera{
		Place: n.Place, Name: n.name(), Pose: pose,
		HorizontalFOV: n.float("horizontal_fov", 1.047),
		Width:         int(n.float("image/width", 320)), Height: int(n.float("image/height", 240)),
		Format: n.text("image/format", "R8G8B8"),
		Near:   n.float("clip/near", 0.1), Far: n.float("clip/far", 100),
		NoiseType: n.text("noise/type", "none"), NoiseMean: n.float("noise/mean", 0), NoiseStddev: n.float("noise/stddev", 0),
	}
	if f := n.at("image/format"); f != nil {
		b.oneOf(f.Place, "<format>", c.Format, pixelFormats...)
	}
	if t := n.at("noise/type"); t != nil && c.NoiseType != "none" {
		b.oneOf(t.Place, "the <type> of <noise>", c.NoiseType, "none", "gaussian", "gaussian_quantized")
	}
	if c.Width < 1 || c.Height < 1 || c.Width > MaxPixels || c.Height > MaxPixels || c.Width*c.Height > MaxPixels {
		b.warn(n.Place, "a picture of %d x %d pixels cannot be made, so 320 x 240 counts; write a width and a height above 0 with a product up to %d",
			c.Width, c.Height, MaxPixels)
		c.Width, c.Height = 320, 240
	}
	if c.HorizontalFOV >= math.Pi {
		b.warn(n.at("horizontal_fov").Place, "the angle of view is %g, which no plane picture has, so 1.047 counts; write one below 3.14", c.HorizontalFOV)
		c.HorizontalFOV = 1.047
	}
	if c.Near <= 0 || c.Far <= c.Near {
		b.warn(n.Place, "<clip> goes from %g to %g, so 0.1 to 100 counts; write a near above 0 and a far above it", c.Near, c.Far)
		c.Near, c.Far = 0.1, 100
	}
	return c
}
