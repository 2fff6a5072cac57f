package metasim

// A fifo is a list that grows at its end and is used up from its front. Its memory is used again: what is in step
// costs none.
type fifo[T any] struct {
	items []T
	head  int // of items, how many are used up
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

// all returns what is in the list, valid until the next push.
func (f *fifo[T]) all() []T { return f.items[f.head:] }

func (f *fifo[T]) push(v T) {
	if len(f.items) == cap(f.items) && f.head > len(f.items)/2 {
		n := copy(f.items, f.items[f.head:]) // half of the memory is free: each value moves once at most on the average
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, v)
}

// drop takes the first n away.
func (f *fifo[T]) drop(n int) {
	clear(f.items[f.head : f.head+n]) // so that payloads can be freed
	if f.head += n; f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	}
}
