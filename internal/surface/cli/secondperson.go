package cli

import (
	"context"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app"
)

// consent is what the writes of w carry. Where a second person approves them, now says what a yes to the question does:
// it sends what was approved, or it asks and sends nothing. Without a question (--yes) the gate decides.
func (r *root) consent(ctx context.Context, a *app.App, w asked) (c api.Consent, now string, err error) {
	c.Reason = r.reason
	kinds := r.row.Sends
	if r.row.Name == act.Restore.Name {
		kinds = []api.ActKind{api.ActAuditRestored}
	}
	if a.Gate.Approve == nil || r.row.Effect == act.Session || len(kinds) == 0 || r.yes || r.dryRun {
		return c, "", nil
	}
	q, found, err := a.Approvals.Usable(ctx, kinds, append([]string{w.object.ID, w.typed}, r.args...))
	if err != nil {
		return c, "", err
	}
	if found && (c.Reason == "" || c.Reason == q.Act.Reason) {
		c.Reason = q.Act.Reason
		return c, "Approved by " + q.Decider.Name + ". This sends it now.", nil
	}
	c.AskOnly = true
	return c, "A second person must approve this. Nothing is sent yet.", nil
}
