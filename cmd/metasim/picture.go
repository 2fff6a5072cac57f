package main

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"metasim/federates/camera"
	"metasim/internal/atomicfile"
)

func newWorldPicture(std streams) *cobra.Command {
	var f modelFlag
	var dir string
	cmd := &cobra.Command{
		Use:   "picture FILE.sdf",
		Short: "Make a picture of a world with each of its cameras",
		Long: "Make a picture of a world with each of its cameras, as the file places everything: WORLD-MODEL-SENSOR.png. The pictures are the same,\n" +
			"byte by byte, on every machine.",
		Args: exactly(1, "one world"),
		RunE: func(_ *cobra.Command, args []string) error {
			document, warnings, err := f.load(args[0])
			printEach(std.err, "warning", warnings)
			if err != nil {
				return badUsage(err)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return failed(err)
			}
			made := 0
			for _, w := range document.Worlds {
				scene := camera.New(w)
				for _, v := range scene.Views {
					models := scene.Links[v.Link].Models
					name := fileName(append([]string{w.Name}, append(models, v.Sensor.Name)...)...) + ".png"
					if err := writePicture(filepath.Join(dir, name), scene.Render(v, scene.Placed(), 0)); err != nil {
						return failed(err)
					}
					made++
					if _, err := fmt.Fprintf(std.out, "%s: %d x %d pixels\n", filepath.Join(dir, name), v.Sensor.Camera.Width, v.Sensor.Camera.Height); err != nil {
						return failed(err)
					}
				}
			}
			if made == 0 {
				return badUsage(fmt.Errorf("%s has no sensor of type camera; add one to a link", args[0]))
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&dir, "out", ".", "write the pictures into this `directory`, which is made if it is not there")
	return cmd
}

// fileName joins names to one that every file system takes.
func fileName(names ...string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.Join(names, "-"))
}

func writePicture(path string, m image.Image) error {
	f, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := png.Encode(f, m); err != nil {
		return err
	}
	return f.Commit()
}
