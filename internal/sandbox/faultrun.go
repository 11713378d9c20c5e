package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"
)

// before runs the faults that strike before the request is processed.
func (s *Service) before(c *call) (*answer, error) {
	for _, f := range c.faults {
		switch f.kind {
		case "delay":
			if err := sleep(c.r.Context(), f.wait); err != nil {
				panic(http.ErrAbortHandler) // nobody waits for the answer any more
			}
		case "refuse":
			panic(http.ErrAbortHandler)
		case "busy":
			return nil, tooMany(int(f.wait / time.Second))
		case "status":
			return nil, refuse(f.number, http.StatusText(f.number))
		case "redirect":
			return &answer{status: http.StatusFound, header: http.Header{"Location": {f.arg}}}, nil
		}
	}
	return nil, nil
}

// after runs those that strike once it is processed; false: nothing is left to send.
func (s *Service) after(w http.ResponseWriter, c *call, a *answer) bool {
	for _, f := range c.faults {
		switch f.kind {
		case "late":
			if err := sleep(c.r.Context(), f.wait); err != nil {
				panic(http.ErrAbortHandler)
			}
		case "drop":
			panic(http.ErrAbortHandler)
		case "reset":
			reset(w)
			panic(http.ErrAbortHandler)
		case "after":
			*a = failure(refuse(f.number, http.StatusText(f.number)))
		case "rubbish":
			*a = answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<!doctype html><title>Maintenance</title><p>Back soon.")}
		case "huge":
			a.body = append([]byte(`{"padding":"`), append(bytes.Repeat([]byte("x"), f.number), `"}`...)...)
		case "blank", "omit":
			a.body = mangle(a.body, f)
		case "truncate":
			s.truncate(w, c, *a)
			return false
		}
	}
	return true
}

// resetter is implemented by the in-process transport.
type resetter interface{ Reset() }

// reset ends the connection with RST where there is one.
func reset(w http.ResponseWriter) {
	if r, ok := w.(resetter); ok {
		r.Reset()
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) // best effort: without it the close is a FIN
	}
	conn.Close()
}

// truncate announces the whole answer and sends half of it.
func (s *Service) truncate(w http.ResponseWriter, c *call, a answer) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.Header().Set("Date", c.now.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	w.Write(a.body[:len(a.body)/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// mangle empties every text ("blank") or leaves out one field ("omit").
func mangle(body []byte, f fault) []byte {
	var v map[string]any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	for k, field := range v {
		if _, isText := field.(string); isText && f.kind == "blank" {
			v[k] = ""
		}
	}
	delete(v, f.arg)
	return encode(v)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
