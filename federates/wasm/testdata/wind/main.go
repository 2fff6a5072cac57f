// Wind is the system metasim::systems::Wind as a WebAssembly module: it pushes every model that moves. Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o wind.wasm ./federates/wasm/testdata/wind
package main

import (
	"math"
	"strconv"
	"strings"
	"unsafe"
)

//go:wasmimport metasim_1 parameter
func parameter(name string, into unsafe.Pointer, room uint32) int32

//go:wasmimport metasim_1 with
func with(component string, into unsafe.Pointer, room uint32) uint32

//go:wasmimport metasim_1 get
func get(entity uint64, component string, into unsafe.Pointer, room uint32) int32

//go:wasmimport metasim_1 set
func set(entity uint64, component string, value unsafe.Pointer, size uint32, kind uint32)

//go:wasmimport metasim_1 fail
func fail(why string)

const periodic = 1

// A pair is the component velocity or force: of the centre of mass, then of the rotation.
type pair [6]float64

var (
	velocity [3]float64
	drag     float64
)

//go:wasmexport configure
func configure() {
	numbers("velocity", velocity[:])
	one := []float64{0.1}
	numbers("drag", one)
	drag = one[0]
}

// numbers reads a parameter that is there.
func numbers(name string, into []float64) {
	text := make([]byte, 256)
	n := parameter(name, unsafe.Pointer(&text[0]), uint32(len(text)))
	if n < 0 {
		return
	}
	words := strings.Fields(string(text[:min(int(n), len(text))]))
	if len(words) != len(into) {
		fail("<" + name + "> is not " + strconv.Itoa(len(into)) + " numbers")
	}
	for i, w := range words {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			fail("<" + name + "> is not " + strconv.Itoa(len(into)) + " numbers")
		}
		into[i] = x
	}
}

//go:wasmexport pre_update
func preUpdate() {
	for _, e := range moving() {
		var speed, before, force pair
		get(e, "velocity", unsafe.Pointer(&speed), uint32(unsafe.Sizeof(speed)))
		found := get(e, "force", unsafe.Pointer(&before), uint32(unsafe.Sizeof(before))) >= 0
		for i := range velocity {
			force[i] = (velocity[i] - speed[i]) * drag
		}
		if found { // what systems of a smaller priority want is kept
			for i := range force {
				force[i] += before[i]
			}
		}
		set(e, "force", unsafe.Pointer(&force), uint32(unsafe.Sizeof(force)), periodic)
	}
}

// moving returns the entities that have a velocity.
func moving() []uint64 {
	entities := make([]uint64, 64)
	for {
		n := int(with("velocity", unsafe.Pointer(&entities[0]), uint32(len(entities))))
		if n <= len(entities) {
			return entities[:n]
		}
		entities = make([]uint64, n)
	}
}

func main() {} // never called: the world calls the functions above
