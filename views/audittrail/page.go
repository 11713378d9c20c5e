package audittrail

import (
	"opdeck/internal/domain/audit"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// show opens a record.
func (s *Screen) show(r record) {
	s.Open(r.id(), "Record "+format.Count(int(r.Seq)), func(w int) []string { return drawRecord(s.env, r.Entry, w) })
}

// drawRecord draws all of a record. Texts are shown as they were, and exactly where
// they are odd.
func drawRecord(env *ui.Env, e audit.Entry, w int) []string {
	th := env.Theme
	look := present.AuditOutcome(e)
	out := widget.NewText(th, w)
	if e.Damaged {
		what := "The stored bytes do not match their hash. Do not trust anything below; "
		if e.Genuine() {
			what = "Below is what was hashed, but " + e.Why + ": lists and searches may show altered values; "
		}
		out.Say(theme.Bad, th.Signs.Bad+" "+what+env.Keys.Audit.Verify.Help().Key+" names all bad records.")
		out.Gap()
	}
	head := th.Strong.Render(present.AuditEvent(e))
	if look.Sign != present.NoSign {
		head = th.Tone(look.Tone).Render(th.SignOf(look.Sign)+" "+look.Word) + "  " + head
	}
	out.Add(head, "")
	out.Pairs(env.Headed(present.AuditEntry(env.Present(), e)))
	for _, h := range present.AuditHashes(e) { // each in the whole width
		out.Gap()
		out.Pairs(env.Headed([]present.Section{h}))
	}
	return out.Lines
}
