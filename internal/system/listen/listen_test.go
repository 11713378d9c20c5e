package listen

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// begun is a server with a request at work that ends when let is closed.
func begun(t *testing.T, grace time.Duration) (stop func(), let chan struct{}, answer, end chan error) {
	t.Helper()
	l, err := Open(t.Context(), "test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := make(chan struct{})
	let, answer, end = make(chan struct{}), make(chan error, 1), make(chan error, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(at)
		<-let
		_, _ = io.WriteString(w, "done")
	})}
	ctx, stop := context.WithCancel(t.Context())
	go func() { end <- Serve(ctx, "test", s, l, new(Conns), grace) }()
	go func() {
		r, err := http.Get("http://" + l.Addr().String())
		if err == nil {
			_, err = io.ReadAll(r.Body)
			_ = r.Body.Close()
		}
		answer <- err
	}()
	<-at
	return stop, let, answer, end
}

func TestServeFinishesWhatIsAtWork(t *testing.T) {
	stop, let, answer, end := begun(t, time.Minute)
	stop()
	close(let)
	if err := <-answer; err != nil {
		t.Error(err)
	}
	if err := <-end; err != nil {
		t.Error(err)
	}
}

func TestServeCutsWhatDoesNotEnd(t *testing.T) {
	stop, let, answer, end := begun(t, time.Millisecond)
	stop()
	if err := <-end; !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := <-answer; err == nil {
		t.Error("the request was answered")
	}
	close(let)
}

func TestErrorsNameTheServer(t *testing.T) {
	l, err := Open(t.Context(), "test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "other", l.Addr().String()); err == nil || !strings.HasPrefix(err.Error(), "other: ") {
		t.Error(err)
	}
	_ = l.Close()
	if err := Serve(t.Context(), "test", &http.Server{}, l, new(Conns), time.Second); !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "test: ") {
		t.Error(err)
	}
}
