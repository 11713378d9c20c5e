package faulty

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// first runs the faults that apply before the request is processed. If it returns an answer, the request is not
// processed, or later.
func (c *call) first() *answer {
	c.present = c.operation()
	c.before = c.present
	for _, f := range c.faults {
		switch f.kind {
		case "delay":
			if err := sleep(c.r.Context(), f.wait); err != nil {
				c.end() // the client has left
			}
		case "arrive":
			if _, err := c.in.service.Insert(c.ctx, Insert{Count: f.number}); err != nil {
				return c.instead(errorAnswer(http.StatusInternalServerError, err.Error()))
			}
		case "refuse":
			c.end()
		case "busy":
			a := errorAnswer(http.StatusTooManyRequests, "Too many requests")
			a.header["Retry-After"] = []string{strconv.Itoa(int(f.wait / time.Second))}
			return c.instead(a)
		case "status":
			return c.instead(f.reply.instead(c, answer{status: http.StatusOK}))
		case "redirect":
			return c.instead(answer{status: http.StatusFound, header: http.Header{"Location": {f.arg}}})
		case "resend":
			return c.instead(answer{status: http.StatusTemporaryRedirect, header: http.Header{"Location": {f.arg}}})
		case "later":
			return c.instead(c.later(f))
		}
	}
	return nil
}

// instead counts a request that the service does not get, and returns its answer.
func (c *call) instead(a answer) *answer {
	c.in.count(func(*counts) { c.take(c.in.service.Now()) })
	return &a
}

// end closes the connection.
func (c *call) end() {
	c.instead(answer{})
	panic(http.ErrAbortHandler)
}

// finish runs the faults that apply to an answer, in written order, and sends it.
func (c *call) finish(a *answer) {
	c.present = c.operation()
	for _, f := range c.faults {
		if err := c.changeData(f, *a); err != nil {
			*a = errorAnswer(http.StatusInternalServerError, err.Error())
		}
	}
	for _, f := range c.faults {
		f.edit(c, a)
	}
	if sendBroken(c.w, c, a) {
		head(c.w, c, *a)
		c.w.Write(a.body) // fails if the client has left
	}
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

// later answers now and passes the request on f.wait later, even if the caller has left; pending requests end with
// the service. A reply of "hang" answers only then.
func (c *call) later(f fault) answer {
	act := *c
	act.r = c.r.Clone(c.ctx)
	act.taken = true // by this call
	acted, ended := make(chan answer, 1), make(chan struct{})
	c.in.service.Go(func(running context.Context) {
		defer close(ended)
		if sleep(running, f.wait) != nil {
			return
		}
		a := act.process()
		c.in.count(func(k *counts) { k.stats.Late++ })
		acted <- a
	})
	switch {
	case f.reply.drop:
		c.end()
	case !f.reply.hang:
		return f.reply.instead(c, answer{status: http.StatusOK})
	}
	select {
	case a := <-acted:
		return a
	case <-c.r.Context().Done():
	case <-ended:
		select {
		case a := <-acted:
			return a
		default:
		}
	}
	c.end()
	return answer{}
}

// reset closes a TCP connection with RST.
func reset(w http.ResponseWriter) {
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
	if w.Header().Get("Date") == "" || c.general.skew != 0 {
		w.Header().Set("Date", c.in.service.Now().Add(c.general.skew).UTC().Format(http.TimeFormat))
	}
	w.Header().Del("Content-Length")
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
