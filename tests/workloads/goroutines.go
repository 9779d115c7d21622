// goroutines.go - a program in Go that knows its own stacks: goroutines that take turns, grow their stacks, panic and
// recover; the argument is how many of them wait for the same. Each call of mark() has a line, in the order of
// calls, with the addresses of this program's own functions on the stack, the outermost first. One runs at a time, and
// loses its turn at calls only (GODEBUG=asyncpreemptoff=1), but not at that of mark, which does not look for room on the
// stack. Go's runtime tells what is on the stack.
package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

var (
	numbers int
	notes   []string // no more than are needed: each is looked at by each collection of garbage, and all that is recorded
)

//go:nosplit
//go:noinline
func mark() int {
	numbers++
	return numbers
}

var markEntry = entryOf(mark)

func hex(value uintptr) string {
	var digit [12]byte
	for i := 11; i >= 0; i-- {
		digit[i] = "0123456789abcdef"[value&15]
		value >>= 4
	}
	return string(digit[:])
}

func entryOf(f func() int) uintptr {
	return runtime.FuncForPC(**(**uintptr)(unsafe.Pointer(&f))).Entry()
}

// leaf notes the stack: of this program's own functions, the outermost first.
//
//go:noinline
func leaf() {
	number := mark()
	var pc [64]uintptr
	n := runtime.Callers(1, pc[:])
	text := hex(markEntry)
	for _, at := range pc[:n] {
		function := runtime.FuncForPC(at - 1)
		if strings.HasPrefix(function.Name(), "main.") {
			text = hex(function.Entry()) + " " + text
		}
	}
	notes[number] = text + "\n"
}

//go:noinline
func recurse(n int) int {
	leaf()
	if n < 2 {
		return n
	}
	return recurse(n-1) + recurse(n-2)
}

// deep grows the stack, which moves then.
//
//go:noinline
func deep(n int) int {
	var room [512]byte
	room[n] = byte(n)
	if n == 0 {
		leaf()
		return 0
	}
	return deep(n-1) + int(room[n])
}

//go:noinline
func fails(n int) {
	defer leaf()
	if n == 0 {
		panic("on purpose")
	}
	fails(n - 1)
}

//go:noinline
func recovers() {
	defer func() {
		leaf()
		recover()
	}()
	fails(3)
}

//go:noinline
func produce(to chan int, n int) {
	for i := 0; i < n; i++ {
		leaf()
		to <- i
	}
	close(to)
}

//go:noinline
func double(from, to chan int) {
	for i := range from {
		leaf()
		to <- 2 * i
	}
	close(to)
}

//go:noinline
func consume(from chan int) {
	for range from {
		recurse(2)
	}
}

//go:noinline
func yields(n int, done *sync.WaitGroup) {
	leaf()
	if n > 0 {
		runtime.Gosched()
		yields(n-1, done)
	}
	leaf()
}

//go:noinline
func late(gate chan int) {
	<-gate
}

//go:noinline
func noted(gate chan int, done *sync.WaitGroup) {
	late(gate)
	leaf()
	done.Done()
}

//go:noinline
func deeper(depth int, gate chan int, done *sync.WaitGroup) {
	if depth > 0 {
		deeper(depth-1, gate, done)
		return
	}
	noted(gate, done)
	runtime.KeepAlive(&depth)
}

// many wait for the same, and are alike for a while when they go on.
//
//go:noinline
func many(count int) {
	var done sync.WaitGroup
	gate := make(chan int)
	for i := 0; i < count; i++ {
		done.Add(1)
		switch i % 3 {
		case 0:
			go deeper(i%4, gate, &done)
		case 1:
			go noted(gate, &done)
		default:
			go func() {
				late(gate)
				leaf()
				done.Done()
			}()
		}
	}
	runtime.Gosched()
	close(gate)
	done.Wait()
	leaf()
}

//go:noinline
func waits(lock *sync.Mutex, done *sync.WaitGroup) {
	for i := 0; i < 3; i++ {
		lock.Lock()
		leaf()
		runtime.Gosched()
		lock.Unlock()
		leaf()
	}
	done.Done()
}

//go:noinline
func some() {
	recurse(4)
	recovers()
	leaf()
	one, two := make(chan int), make(chan int, 2)
	go produce(one, 6)
	go double(one, two)
	consume(two)
	var done sync.WaitGroup
	for i := 0; i < 3; i++ {
		done.Add(1)
		go func(n int) {
			yields(n, &done)
			deep(n * 10)
			done.Done()
		}(i + 1)
	}
	done.Wait()
	var lock sync.Mutex
	for i := 0; i < 3; i++ {
		done.Add(1)
		go waits(&lock, &done)
	}
	done.Wait()
	time.Sleep(time.Millisecond)
	runtime.GC()
	recurse(3)
}

func main() {
	count := 12
	if len(os.Args) > 1 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	notes = make([]string, 200+2*count)
	runtime.GOMAXPROCS(1)
	some()
	many(count)
	os.Stdout.WriteString(strings.Join(notes[1:numbers+1], ""))
}
