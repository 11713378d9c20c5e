package sandbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"syscall"
)

// Transport returns a RoundTripper that passes requests to the service in this process: no port, any host name. It
// behaves like a connection: bodies stream both ways, a cancelled context ends the wait (a received request is still
// processed), a dropped answer is an error.
func (s *Service) Transport() http.RoundTripper { return inProcess{s.Handler(), "in-process"} }

type inProcess struct {
	handler http.Handler
	from    string // the address that the handler sees
}

// RoundTrip serves one request.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	in := r.Clone(ctx)
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), t.from
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	// From here on the request may be processed; with this hook, as with a connection, callers know whether a failed
	// one was certainly not sent.
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	reader, writer := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: writer, ready: make(chan struct{})}
	go t.run(w, in)
	select {
	case <-w.ready:
	case <-ctx.Done():
		reader.CloseWithError(ctx.Err())
		return nil, ctx.Err()
	}
	if w.failed != nil {
		return nil, w.failed
	}
	stop := context.AfterFunc(ctx, func() { reader.CloseWithError(ctx.Err()) })
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &pipeBody{reader, stop}, ContentLength: contentLength(w.sent), Request: r,
	}, nil
}

// run serves the request and closes its body.
func (t inProcess) run(w *pipeWriter, r *http.Request) {
	defer r.Body.Close()
	defer func() {
		switch p := recover(); {
		case p == nil:
			w.finish(nil)
		case p == http.ErrAbortHandler:
			w.finish(io.ErrUnexpectedEOF)
		default:
			w.finish(errors.New("sandbox: the service failed"))
			panic(p)
		}
	}()
	t.handler.ServeHTTP(w, r)
}

// pipeWriter is the answer's side of an in-process call.
type pipeWriter struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	ready  chan struct{} // closed once sent or failed are set
	sent   http.Header
	status int
	failed error
	broken error // what an aborted answer ends with; nil: unexpected EOF
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.ready)
	})
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush does nothing: every write is handed over at once.
func (w *pipeWriter) Flush() {}

// Reset makes the abort that follows look like a reset connection.
func (w *pipeWriter) Reset() { w.broken = syscall.ECONNRESET }

func (w *pipeWriter) finish(err error) {
	if err != nil && w.broken != nil {
		err = w.broken
	}
	w.once.Do(func() {
		w.failed, w.status, w.sent = err, http.StatusOK, w.header.Clone()
		close(w.ready)
	})
	w.body.CloseWithError(err) // nil: EOF
}

type pipeBody struct {
	*io.PipeReader
	stop func() bool
}

// Close discards the rest of the answer.
func (b *pipeBody) Close() error {
	b.stop()
	return b.PipeReader.Close()
}

func contentLength(h http.Header) int64 {
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
