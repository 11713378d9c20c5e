package receiver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/internal/domain/receiver"
)

// childSenders is the address that a process of senders, which BenchmarkDurable
// starts, delivers to. Senders are no part of the receiver: what they cost is
// theirs, and they do as little as can be.
const childSenders = "OPDECK_TEST_SEND_TO"

// round is what the process of senders must deliver, signed and written as HTTP.
type round struct {
	Senders  int
	Requests [][]byte
}

// delivered is its answer to a round.
type delivered struct {
	Took   []time.Duration
	Failed int
}

// runSenders delivers rounds from stdin: it reads one, says that it has it, and
// sends when the next word comes.
func runSenders(addr string) error {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	conns := map[int]*wire{}
	for {
		var todo round
		if err := in.Decode(&todo); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for i := range todo.Senders {
			if conns[i] == nil {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					return err
				}
				conns[i] = &wire{c, bufio.NewReader(c)}
			}
		}
		var start bool
		if err := errors.Join(out.Encode(true), in.Decode(&start)); err != nil {
			return err
		}
		if err := out.Encode(todo.deliver(conns)); err != nil {
			return err
		}
	}
}

func (todo round) deliver(conns map[int]*wire) delivered {
	done := delivered{Took: make([]time.Duration, len(todo.Requests))}
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	for i := range todo.Senders {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(todo.Requests) {
					return
				}
				began := time.Now()
				if err := conns[i].send(todo.Requests[n]); err != nil {
					failed.Add(1)
				}
				done.Took[n] = time.Since(began)
			}
		})
	}
	wg.Wait()
	done.Failed = int(failed.Load())
	return done
}

// wire is one sender's connection.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
}

// send delivers one request and wants the answer 200, which it reads to its end.
func (w *wire) send(request []byte) error {
	if _, err := w.conn.Write(request); err != nil {
		return err
	}
	length, status := 0, ""
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if status == "" {
			status = string(line)
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	if _, err := w.r.Discard(length); err != nil {
		return err
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return fmt.Errorf("answer %q", status)
	}
	return nil
}

// overTCP serves r on a port and returns what delivers to it from a process of
// its own; prepared comes back ready for go, which ends with what each took.
func overTCP(b *testing.B, r *receiver.Receiver) func(senders int,
	requests []*http.Request) (run func() []time.Duration) {
	s, err := receiver.Listen(context.Background(), r, receiver.ServerOptions{Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), childSenders+"="+s.Addr().String()), os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		err := errors.Join(stdin.Close(), cmd.Wait())
		stop()
		if err := errors.Join(err, <-done); err != nil {
			b.Error(err)
		}
	})
	out, in := gob.NewEncoder(stdin), gob.NewDecoder(stdout)
	return func(senders int, requests []*http.Request) func() []time.Duration {
		todo := round{Senders: senders}
		for _, req := range requests {
			var w bytes.Buffer
			if err := req.Write(&w); err != nil {
				b.Fatal(err)
			}
			todo.Requests = append(todo.Requests, w.Bytes())
		}
		var ready bool
		if err := errors.Join(out.Encode(todo), in.Decode(&ready)); err != nil {
			b.Fatal(err)
		}
		return func() []time.Duration {
			var d delivered
			if err := errors.Join(out.Encode(true), in.Decode(&d)); err != nil {
				b.Fatal(err)
			}
			if d.Failed > 0 {
				b.Errorf("%d of %d were not answered 200", d.Failed, len(requests))
			}
			return d.Took
		}
	}
}
