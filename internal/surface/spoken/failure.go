package spoken

import (
	"context"
	"errors"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/ui/plain"
)

// failed says in sentences what went wrong and what can be done. It returns an
// error only when the person has left meanwhile.
func (c *console) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return plain.ErrInterrupted
	}
	for _, w := range []error{plain.ErrQuit, plain.ErrEnd, plain.ErrInterrupted, plain.ErrGone, plain.ErrHome, plain.ErrBack} {
		if errors.Is(err, w) {
			return err
		}
	}
	e := api.AsError(err)
	s := what + ": " + verdict(e) + " " + sentence(e.Public)
	if h := remedy.Spoken(e); h != "" {
		s += " " + sentence(h)
	}
	c.talk.Say(s)
	if e.RequestID != "" && e.Kind != api.Refused && e.Kind != api.NotFound {
		c.talk.Say("The request id is " + untrusted.Text(e.RequestID).Line(64) + ".")
	}
	return nil
}

// verdict names the kind of failure in a word or two.
func verdict(e *api.Error) string {
	switch e.Kind {
	case api.Refused:
		if e.Rule == api.RuleApproval {
			return "waits for a second person."
		}
		return "refused."
	case api.NotFound:
		return "not found."
	case api.UnknownOutcome:
		return "the outcome is unknown."
	case api.RateLimited:
		return "no room in the budget."
	case api.Interrupted:
		return "stopped."
	}
	return "failed."
}

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// mayNot says why a person cannot write here, "" when they can. The gate decides
// again.
func (c *console) mayNot(p api.Permission) string {
	if !c.who.Role.May(p) {
		return "Your role (" + orNone(string(c.who.Role)) + ") does not allow to " + string(p) + "; " + api.WhoMay(p) + " may."
	}
	if c.app.ReadOnly && p != api.MaySession && p != api.MayApprove {
		return "This context is READ-ONLY. Writes need a context with read_only = false and no --read-only."
	}
	return ""
}

// served is true for who talks over SSH: files of this host are the server's,
// and the server does the background work.
func (c *console) served() bool { return c.who.Via == "ssh" }

// noFiles says why files of this host are out of reach, "" when they are not.
func (c *console) noFiles() string {
	if c.served() {
		return "Files would be the server's, not yours; use the command over SSH, with - for the file."
	}
	return ""
}

// write says the context, asks, and does it. It reports whether it was done;
// the error is set only when the person wants elsewhere.
func (c *console) write(ctx context.Context, q plain.Question, what, doing string, do func(context.Context) error) (done bool, err error) {
	q.Lead = c.ground()
	q.Typed = q.Typed || c.production()
	if q.IDLabel == "" {
		q.IDLabel = "id"
	}
	c.at(ctx, true)
	yes, err := c.talk.Confirm(ctx, q)
	c.at(ctx, false)
	if err != nil || !yes {
		return false, err
	}
	if err := c.talk.Work(ctx, doing, do); err != nil {
		return false, c.failed(ctx, what, err)
	}
	return true, nil
}
