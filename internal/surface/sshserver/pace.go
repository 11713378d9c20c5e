package sshserver

import (
	"context"
	"io"
	"time"
)

const (
	// framesInFlight is how many frames a client may not have processed yet.
	framesInFlight = 2
	// replyWithin bounds the wait for a client that does not reply. Until it does, frames are not held back.
	replyWithin = 2 * time.Second
)

// pacedWriter writes the frames of a console, one per Write, no faster than the client processes them. Without it a
// slow network keeps seconds of frames in the buffers of both systems, and a key that was held for ten seconds scrolls
// on for a minute after it was released. A frame that waits here is never old: [paint.Painter] composes the next one
// when Write returns.
type pacedWriter struct {
	ctx context.Context
	w   io.Writer
	// processed returns when the client has processed all that was written before.
	processed func()

	unconfirmed int           // frames since the client's last reply; written by Write only
	reply       chan struct{} // closed by the reply that is waited for; nil: none
}

func newPacedWriter(ctx context.Context, w io.Writer, processed func()) *pacedWriter {
	return &pacedWriter{ctx: ctx, w: w, processed: processed}
}

// Write writes one frame and returns when another one may follow.
func (p *pacedWriter) Write(frame []byte) (int, error) {
	n, err := p.w.Write(frame)
	if p.unconfirmed++; err != nil || p.unconfirmed < framesInFlight {
		return n, err
	}
	if p.reply == nil {
		reply := make(chan struct{})
		p.reply = reply
		go func() {
			defer close(reply)
			p.processed()
		}()
	} else {
		select {
		case <-p.reply: // late, and of an earlier frame: the next frame asks again
			p.reply = nil
		default: // this client has not replied in time before
		}
		return n, nil
	}
	late := time.NewTimer(replyWithin)
	defer late.Stop()
	select {
	case <-p.reply:
		p.reply, p.unconfirmed = nil, 0
	case <-late.C:
	case <-p.ctx.Done():
	}
	return n, nil
}
