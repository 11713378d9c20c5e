package sandbox

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// before runs the faults that apply before the request is processed. If it returns an answer, the request is not
// processed, or later.
func (s *Service) before(c *call, rt route) (*answer, error) {
	if err := loadPresent(c); err != nil {
		return nil, err
	}
	c.before = c.present
	for _, f := range c.faults {
		switch f.kind {
		case "delay":
			if err := sleep(c.r.Context(), f.wait); err != nil {
				panic(http.ErrAbortHandler) // the client has left
			}
		case "arrive":
			if _, err := s.Insert(c.ctx, Insert{Count: f.number}); err != nil {
				return nil, err
			}
		case "refuse":
			panic(http.ErrAbortHandler)
		case "busy":
			return nil, tooMany(int(f.wait / time.Second))
		case "status":
			a := f.reply.instead(c, answer{status: http.StatusOK})
			return &a, nil
		case "redirect":
			return &answer{status: http.StatusFound, header: http.Header{"Location": {f.arg}}}, nil
		case "resend":
			return &answer{status: http.StatusTemporaryRedirect, header: http.Header{"Location": {f.arg}}}, nil
		case "later":
			return s.later(c, rt, f)
		}
	}
	return nil, nil
}

// after runs the faults that apply to an answer, in written order; false: nothing is left to send.
func after(w http.ResponseWriter, c *call, a *answer) bool {
	if err := loadPresent(c); err != nil {
		*a = failure(err)
	}
	for _, f := range c.faults {
		if err := changeData(c, f, *a); err != nil {
			*a = failure(err)
		}
	}
	for _, f := range c.faults {
		f.edit(c, a)
	}
	return sendBroken(w, c, a)
}

// sendBroken runs the faults of the transport; false: nothing is left to send.
func sendBroken(w http.ResponseWriter, c *call, a *answer) bool {
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
		case "truncate":
			head(w, c, *a)
			cutOff(w, a.body[:len(a.body)/2])
		case "cut":
			head(w, c, *a)
			cutOff(w, a.body[:min(f.number, len(a.body))])
		case "drip":
			head(w, c, *a)
			drip(c.r.Context(), w, a.body, f.wait)
			return false
		}
	}
	return true
}

// later answers now and processes the request f.wait later, even if the caller has left; pending requests end with
// the process. A reply of "hang" answers only then.
func (s *Service) later(c *call, rt route, f fault) (*answer, error) {
	body, err := io.ReadAll(io.LimitReader(c.r.Body, 64<<20))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "The body could not be read")
	}
	act := *c
	act.r = c.r.Clone(c.ctx)
	act.r.Body = io.NopCloser(bytes.NewReader(body))
	acted := make(chan answer, 1)
	s.work.Go(func() {
		if sleep(s.running, f.wait) != nil {
			return
		}
		act.at = s.clock()
		a := process(&act, rt)
		// Only a count: an error does not undo the request.
		_ = s.write(act.ctx, func(tx *sql.Tx) error { return increment(act.ctx, tx, "late") })
		acted <- a
	})
	switch {
	case f.reply.drop:
		panic(http.ErrAbortHandler)
	case !f.reply.hang:
		a := f.reply.instead(c, answer{status: http.StatusOK})
		return &a, nil
	}
	select {
	case a := <-acted:
		return &a, nil
	case <-c.r.Context().Done():
	case <-s.running.Done():
	}
	panic(http.ErrAbortHandler)
}

// reset closes a TCP connection with RST.
func reset(w http.ResponseWriter) {
	if in, ok := w.(*pipeWriter); ok { // the in-process transport
		in.reset()
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

// head sends the header of the whole answer.
func head(w http.ResponseWriter, c *call, a answer) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Date", c.now.UTC().Format(http.TimeFormat))
	if a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
}

// cutOff sends the start of an answer and closes the connection.
func cutOff(w http.ResponseWriter, part []byte) {
	w.Write(part)
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// drip sends the body in twenty parts over d.
func drip(ctx context.Context, w http.ResponseWriter, body []byte, d time.Duration) {
	const pieces = 20
	for part := range slices.Chunk(body, len(body)/pieces+1) {
		if sleep(ctx, d/pieces) != nil {
			panic(http.ErrAbortHandler)
		}
		w.Write(part)
		http.NewResponseController(w).Flush()
	}
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
