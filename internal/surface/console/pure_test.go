package console

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/views/approvals"
	"opdeck/views/records"
)

// TestViewIsPure: on every screen, with the dialogs that it opens, it makes no
// difference whether frames are drawn. (Not here: the session's, which has the test
// in its package; events, which wait for the next one; the trail and a history, which
// show that they were looked at.)
func TestViewIsPure(t *testing.T) {
	a, _ := open(t)
	ctx, who := as(api.Admin)
	page, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{})
	if err != nil || len(page.Items) == 0 {
		t.Fatal(err)
	}
	op := page.Items[0]
	for kind, id := range map[string]string{ui.KindOperations: "", ui.KindOperation: string(op.OPID), ui.KindDocuments: string(op.OPID), ui.KindCompliance: string(op.Customer.CUID),
		ui.KindLimits: "", approvals.Kind: "", "customers": "", records.KindAccounts: "", records.KindCounterparties: "", records.KindLimits: ""} {
		t.Run(kind, func(t *testing.T) {
			if kind == "customers" {
				kind = ui.KindCompliance
			}
			uitest.Pure(t, func(c *uitest.Clock) tea.Model {
				f := newFeed(ctx, a, newPeople(a, who), nil)
				t.Cleanup(f.close)
				o := shellOptions(ctx, a, who, Options{Getenv: func(string) string { return "" }}, f, nil)
				o.Feeds, o.Start, o.Now, o.Tick = nil, ui.Place{Kind: kind, ID: id}, c.Now, c.Tick
				return seat{ui.New(o), 5 * time.Second}
			}, func(c *uitest.Clock) []tea.Msg {
				return []tea.Msg{uitest.Keys("j", "j", "k"), c.Wait(time.Minute), uitest.Key("/"), uitest.Type("a"), uitest.Key("esc"), uitest.Size(60, 12), uitest.Keys("j", "j", "G"),
					uitest.Key("x"), c.Wait(time.Second), uitest.Key("esc"), uitest.Key("a"), c.Wait(time.Second), uitest.Key("esc"), uitest.Size(140, 40), uitest.Keys("g", "J"), c.Wait(time.Hour)}
			})
		})
	}
}
