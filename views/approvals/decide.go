package approvals

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/widget"
)

// askApprove is the one question before an approval. It binds to the request's
// digest: what is approved is what is in it.
func (s *Screen) askApprove(r approval.Request) ui.Action {
	s.asking = r.ID
	return ui.Asking(act.ApprovalApprove, act.Object{ID: r.ID}, ui.Confirm{ID: r.ID,
		Ask:   present.RequestQuestion(r, true),
		Facts: s.env.Pairs(present.Decision(s.env.Present(), r, ""), nil), Risk: act.Consequence(r.Act.Kind),
		Yes: s.decide(r, approval.Approved, ""), No: s.unasked})
}

// askReason asks why, then once more whether.
func (s *Screen) askReason(r approval.Request) ui.Action {
	return ui.Ask{Title: "Deny: " + present.RequestTitle(r.Act), Verb: "Continue",
		Intro: []string{line(r.Requester.Name, 40) + " sees the reason."},
		Fields: []widget.Field{widget.Note("Reason", "why it should not be done",
			"give a reason: the requester sees nothing else")},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			reason := strings.TrimSpace(v.Text(0))
			s.asking = r.ID
			return ui.Asking(act.ApprovalDeny, act.Object{ID: r.ID}, ui.Confirm{ID: r.ID,
					Ask:   present.RequestQuestion(r, false),
					Facts: s.env.Pairs(present.Decision(s.env.Present(), r, reason), nil), Yes: s.decide(r, approval.Denied, reason),
					No: s.unasked}),
				nil
		}}
}

func (s *Screen) unasked() ui.Action {
	s.asking = ""
	return nil
}

// decide sends the decision. The notice names request and person, because the screen may be
// closed by then.
func (s *Screen) decide(r approval.Request, to approval.State, comment string) func(ui.Seen) tea.Cmd {
	return func(ui.Seen) tea.Cmd {
		s.asking, s.Doing = "", "deciding"
		act, failed, who := s.backend.Approve, "The approval", line(r.Requester.Name, 40)
		if to == approval.Denied {
			act, failed = s.backend.Deny, "The denial"
		}
		zone := s.env.Zone()
		return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
			decided, err := act(ctx, r.ID, r.Digest, comment)
			done := "Denied. " + who + " sees the reason."
			if to == approval.Approved {
				done = "Approved. " + who + " can send it once, until " + format.Clock(decided.Expires, zone) + "."
			}
			return func() (ui.Action, tea.Cmd) {
				s.Doing = ""
				return ui.Ended(failed, done, err), s.Reload()
			}, ui.EndedElsewhere("Request "+line(r.ID, 20)+" was not decided", done, err)
		})
	}
}
