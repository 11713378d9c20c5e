package audittrail

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

func TestList(t *testing.T) {
	r, _ := open(t, fake())
	golden.RequireEqual(t, []byte(r.View()))
}

func TestListWide(t *testing.T) {
	r, _ := open(t, fake())
	r.Send(uitest.Size(120, 40))
	golden.RequireEqual(t, []byte(r.View()))
}

func TestRecord(t *testing.T) {
	r, _ := open(t, fake())
	r.Send(uitest.Size(120, 40), uitest.Keys("down", "down", "down", "down", "enter"))
	golden.RequireEqual(t, []byte(r.View()))
	r.Send(uitest.Key("esc"))
	r.Has("4 writes and refusals")
}

func TestReports(t *testing.T) {
	log := fake()
	log.verify = func() (audit.Report, error) {
		return audit.Report{Chain: "c1", Records: 90, First: 1, Last: 90, Head: strings.Repeat("9", 64), From: noon.Add(-time.Hour), Until: noon, Checkpoints: 2, Covered: 60,
			Problems:   []audit.Problem{{Seq: 41, Kind: audit.Changed, Text: "record 41 was changed: its bytes do not match its hash"}, {Kind: audit.Cut, Text: "a checkpoint says there were 100 records; the log ends with 90"}},
			Unsettled:  []audit.OpenIntent{{Seq: 9, At: noon, Event: "document.remove", Actor: "ana", Object: "operation", ID: "7f3a"}},
			ClockSteps: []audit.ClockStep{{Seq: 12, Back: 3 * time.Second}}, Warnings: []string{"the last line of a checkpoint file is torn"}}, nil
	}
	r, _ := open(t, log)
	r.Send(uitest.Size(100, 40), uitest.Key("V"))
	golden.RequireEqual(t, []byte(r.View()))
	log.verify = func() (audit.Report, error) {
		return audit.Report{Records: 90, First: 1, Last: 90, Covered: 90, Checkpoints: 1}, nil
	}
	r.Send(uitest.Key("esc"), uitest.Key("V"))
	r.Has("✓ 90 records are intact, all covered by checkpoints", "✓ none", "none: the clock never went back")
	log.verify = func() (audit.Report, error) { return audit.Report{}, errors.New("disk gone") }
	r.Send(uitest.Key("V"))
	r.Has("could not be checked: disk gone", "V tries again")
}

// TestUnprovenIsNotFine: without checkpoints a check finds nothing wrong, and does not say that nothing is.
func TestUnprovenIsNotFine(t *testing.T) {
	log := fake()
	log.verify = func() (audit.Report, error) { return audit.Report{Records: 3, First: 1, Last: 3}, nil }
	r, _ := open(t, log)
	r.Send(uitest.Key("V"))
	r.Has("Check of the trail", "! Not proven complete: no checkpoints.", "– none found in the records that are stored")
	if v := r.View(); !strings.Contains(strings.Join(strings.Fields(v), " "), "set [audit] checkpoints") {
		t.Errorf("the next step does not show in\n%s", v)
	}
}

// TestNarrowRowsDiffer: a small window shows of each record when, who and what, and the sign of its outcome.
func TestNarrowRowsDiffer(t *testing.T) {
	r, _ := open(t, fake())
	r.Send(uitest.Size(40, 12), uitest.Key("."))
	view := strings.Join(strings.Fields(r.View()), " ")
	for _, want := range []string{"10:29 ana document.remove ?", "10:25 bob denied ×12 ✗", "10:23 ana document.remove ✗"} {
		if !strings.Contains(view, want) {
			t.Errorf("%q does not show in\n%s", want, r.View())
		}
	}
	shelltest.Sizes(r)
}

// An answer to a check of the trail that was left, and to an older question, is dropped.
func TestStaleAnswers(t *testing.T) {
	s := &Screen{}
	clock := uitest.NewClock()
	log := fake()
	log.verify = func() (audit.Report, error) { return audit.Report{Records: 1}, nil }
	shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, log, ""); return s }, place, as(api.Admin))
	first, second := s.Reload(), s.Reload()
	log.find = func(audit.Query) (audit.Page, error) { return audit.Page{Entries: sample()[:1]}, nil }
	late := first()
	s.Update(second())
	s.Update(late)
	if n := s.rows.Len(); n != 1+len(s.open) {
		t.Errorf("%d records after a stale answer", n)
	}
	check := s.verify()
	s.Update(keymap.Parse("esc"))
	s.Update(check())
	if s.Page != nil {
		t.Error("a check that was stopped opens its page")
	}
}

func TestFilterAsksOnceByEnter(t *testing.T) {
	log := fake()
	r, _ := open(t, log)
	before := len(log.queries)
	r.Send(uitest.Key("/"), uitest.Type("person:ana event:document.* since:2h invoice"))
	r.Has("enter apply  esc cancel  tab complete")
	if len(log.queries) != before {
		t.Fatal("typing asks the trail, which records each question")
	}
	r.Send(uitest.Key("enter"))
	q := log.queries[len(log.queries)-1]
	if len(log.queries) != before+1 || q.Actor != "ana" || q.Event != "document.*" || !q.From.Equal(noon.Add(-2*time.Hour)) {
		t.Errorf("asked %d times, last %+v", len(log.queries)-before, q)
	}
	r.Has("/ person:ana")
	r.Send(uitest.Key("/"), uitest.Type(" color:red"))
	r.Has(`There is no field "color"`)
	r.Send(uitest.Key("enter"))
	r.Has(`There is no field "color"`)
	r.Send(uitest.Key("esc"), uitest.Key("esc"))
	if q := log.queries[len(log.queries)-1]; q.Actor != "" {
		t.Errorf("esc keeps the filter: %+v", q)
	}
}

// TestWritesAndRefusalsFirst: what a console does all day does not hide them; one key
// shows everything and goes back, and the count line says which.
func TestWritesAndRefusalsFirst(t *testing.T) {
	log := fake()
	opened, out := entry(7, audit.EventConsoleOpen, audit.PhaseNote, ""), entry(6, audit.EventTakeAway, audit.PhaseNote, "")
	log.find = func(audit.Query) (audit.Page, error) {
		return audit.Page{Entries: append([]audit.Entry{opened, out}, sample()...)}, nil
	}
	r, _ := open(t, log)
	r.Has("4 writes and refusals; . shows all records", "document.attach", "denied ×12", ". all records")
	if strings.Contains(r.View(), "console.open") || strings.Contains(r.View(), "to be sent") {
		t.Error(r.View())
	}
	r.Send(uitest.Key("."))
	r.Has("7 records of all kinds; . shows writes and refusals", "console.open", "to be sent", ". writes and refusals")
	r.Send(uitest.Key("."), uitest.Key("/"), uitest.Type("event:console.open"), uitest.Key("enter"))
	r.Has("0 writes and refusals")
	log.unsettled = func() ([]audit.Entry, error) { return nil, nil }
	r.Send(uitest.Key("r"))
	r.Has("No record matches the filter.", ". searches all records")
	r.Send(uitest.Key("."))
	r.Has("1 record of all kinds; . shows writes and refusals", "console.open")
	log.find = func(audit.Query) (audit.Page, error) { return audit.Page{Entries: []audit.Entry{opened}}, nil }
	r.Send(uitest.Key("esc"), uitest.Key("."))
	r.Has("No writes yet. Press . to see all records.")
}

// TestTheFilterOffersWhatIsOnScreen, without a question to the trail.
func TestTheFilterOffersWhatIsOnScreen(t *testing.T) {
	log := fake()
	r, _ := open(t, log)
	before := log.calls
	r.Send(uitest.Key("/"))
	r.Has("tab person:  event:  id:")
	r.Send(uitest.Type("person:"))
	r.Has("tab ana  bob", "showing the last valid filter: person") // "person" alone was a word
	r.Send(uitest.Key("tab"), uitest.Key("tab"))
	r.Has("/ person:bob")
	r.Send(uitest.Type(" outcome:"))
	r.Has("tab ok  denied  failed  unknown")
	r.Send(uitest.Type("x"))
	r.Has("/ person:bob outcome:x", "\n                      ^", "x is not known. Known are ok, denied")
	r.Send(uitest.Key("ctrl+u"), uitest.Type("event:document.r"))
	r.Has("tab document.remove")
	for _, field := range []string{"object:", "phase:", "at<", "id:"} {
		r.Send(uitest.Key("ctrl+u"), uitest.Type(field))
		r.Has("\n tab ")
	}
	if log.calls != before {
		t.Errorf("%d questions while it is typed", log.calls-before)
	}
}

func TestOlderRecordsAreReadWhenTheCursorComesNear(t *testing.T) {
	log := fake()
	log.find = func(q audit.Query) (audit.Page, error) {
		p := audit.Page{Next: 101}
		from := int64(300)
		if q.Before != 0 {
			from, p.Next = q.Before-1, 0
		}
		for i := from; i > from-200 && i > 0; i-- {
			p.Entries = append(p.Entries, entry(i, "denied", audit.PhaseNote, ""))
		}
		return p, nil
	}
	r, _ := open(t, log)
	r.Has("older ones below", "1 of 201")
	r.Send(uitest.Key("down"))
	if len(log.queries) != 1 {
		t.Error("older records are read before they are needed")
	}
	r.Send(uitest.Key("G"))
	r.Has("300 writes and refusals", "201 of 301")
	if q := log.queries[1]; q.Before != 101 {
		t.Errorf("the second page begins before %d", q.Before)
	}
}

func TestUnsettledSaysWhatToDo(t *testing.T) {
	log := fake()
	r, _ := open(t, log)
	r.Has("1 write has an unknown outcome", "? unknown")
	r.Send(uitest.Key("enter"))
	r.Has("Open the operation and check", "Settle: write down")
	r.Send(uitest.Key("enter"))
	r.Has("operation 7f3a2b10-0000-4000-8000-000000000001")
	r.Send(uitest.Key("esc"))
	var got []string
	log.settle = func(who api.Actor, ref, note string) error { got = []string{who.Name, ref, note}; return nil }
	r.Send(uitest.Keys("g", "enter", "down", "enter"), uitest.Type("x"), uitest.Key("enter"))
	r.Has("write a sentence")
	log.unsettled = func() ([]audit.Entry, error) { return nil, nil }
	r.Send(uitest.Type(" it is still attached"), uitest.Key("enter"))
	if strings.Join(got, "|") != "ana|01900000-0000-7000-8000-000000000009|x it is still attached" {
		t.Errorf("settled %q", got)
	}
	r.Has("settled as unknown")
	if strings.Contains(r.View(), "unknown outcome") {
		t.Error("it is still unsettled")
	}
}

func TestExport(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	log := fake()
	log.export = func(w io.Writer) (int64, error) { _, err := io.WriteString(w, "line\n"); return 7, err }
	r, _ := open(t, log)
	r.Send(uitest.Keys("e", "enter"))
	r.Has("7 records written to")
	if st, err := os.Stat(filepath.Join(dir, "audit-2026-03-02.jsonl")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	r.Send(uitest.Keys("e", "enter"))
	r.Has("A file with that name exists already")
	log.export = func(w io.Writer) (int64, error) { _, _ = io.WriteString(w, "half"); return 0, errors.New("broken") }
	_ = os.Remove(filepath.Join(dir, "audit-2026-03-02.jsonl"))
	r.Send(uitest.Key("enter"), uitest.Keys("e", "enter"))
	if _, err := os.Stat(filepath.Join(dir, "audit-2026-03-02.jsonl")); !os.IsNotExist(err) {
		t.Error("half an export is left behind")
	}
}

func TestStates(t *testing.T) {
	log := fake()
	log.unsettled = func() ([]audit.Entry, error) { return nil, nil }
	log.find = func(audit.Query) (audit.Page, error) { return audit.Page{}, nil }
	r, _ := open(t, log)
	r.Has("No writes yet.")
	log.find = func(audit.Query) (audit.Page, error) {
		return audit.Page{}, &api.Error{Kind: api.Refused, Public: "Your role (viewer) may not read the audit trail.", Hint: "Roles that may: admin."}
	}
	r.Send(uitest.Key("r"))
	r.Has("may not read the audit trail", "r tries again")
	log = fake()
	log.health = audit.Health{Err: errors.New("full"), Since: noon, Checkpoint: errors.New("x")}
	r, _ = open(t, log)
	r.Has("The trail cannot be written since 12:00:00", "last checkpoint")
	r.Send(ui.Changed{Kind: ui.KindAudit})
	r.Has("newer records: r reads them")
	log.health = audit.Health{Checkpoint: &audit.TamperedError{N: 3, Reason: "the record is another one"}}
	r, _ = open(t, log)
	r.Has("The trail was tampered with: the record is another one.")
}

func TestHostileText(t *testing.T) {
	bad := "\x1b[2J\x1b]52;c;aGk=\a\u202efdp.exe\n\xff"
	e := entry(1, bad, audit.PhaseOutcome, audit.Result(bad))
	q := func(s string) string { return fmt.Sprintf("%+q", s) }
	e.Actor = audit.Author{Name: q(bad), Role: bad, Key: bad}
	e.ID, e.Item, e.Name, e.Object, e.Path, e.Reason, e.Summary = q(bad), bad, q(bad), bad, bad, bad, q(bad)
	e.Error, e.Detail, e.Rule, e.Via, e.From, e.Sid, e.Req, e.Since, e.Build, e.Count = bad, bad, bad, bad, bad, bad, bad, bad, bad, 3
	e.UID, e.Hash, e.Prev, e.Before, e.After, e.Act, e.Body, e.Secret, e.Chain, e.Boot, e.Code = bad, bad, bad, bad, bad, bad, bad, bad, bad, bad, bad
	e.Context = audit.Context{Name: bad, BaseURL: bad, Account: bad}
	log := fake()
	log.find = func(audit.Query) (audit.Page, error) { return audit.Page{Entries: []audit.Entry{e}}, nil }
	log.unsettled = func() ([]audit.Entry, error) { return []audit.Entry{e}, nil }
	log.verify = func() (audit.Report, error) {
		return audit.Report{Chain: bad, Head: bad, Problems: []audit.Problem{{Kind: audit.ProblemKind(bad), Text: bad}}, Warnings: []string{bad},
			Unsettled: []audit.OpenIntent{{Event: bad, Actor: bad, Object: bad, ID: bad}}}, nil
	}
	r, _ := open(t, log)
	r.Send(uitest.Keys("G", "enter"), uitest.Size(120, 60), uitest.Keys("J", "esc", "esc", "V", "esc", "g", "enter", "down", "enter"))
	r.Send(uitest.Keys("esc", "e", "esc", "y", "Y"), uitest.Key("/"), uitest.Paste(bad))
	shelltest.Sizes(r)
}

func TestSizes(t *testing.T) {
	r, _ := open(t, fake())
	shelltest.Sizes(r)
	r.Send(uitest.Keys("G", "enter"))
	shelltest.Sizes(r)
}

// Nothing is asked of the trail but in commands.
func TestUpdateAndViewNeverWait(t *testing.T) {
	log := fake()
	shelltest.PressAll(uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
		s := New(env, log, "")
		s.Loaded = true
		s.set(nil, sample())
		return s
	}, place)
	if log.calls != 0 {
		t.Errorf("%d questions outside a command", log.calls)
	}
}

// The same for every key on a record's page and while a filter is typed.
func TestKeysOnPagesNeverWait(t *testing.T) {
	var s *Screen
	log := fake()
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, log, ""); return s }, place, as(api.Admin))
	before, k := log.calls, keymap.New()
	for _, key := range keymap.Join(k.Nav, k.List, k.Item, k.Audit, k.Viewer, k.Global) {
		s.show(record{sample()[3], false})
		s.Update(key.Msg())
		_ = s.View()
		s.Page = nil
		s.Update(keymap.Parse("/"))
		s.Update(key.Msg())
		_ = s.View()
		s.Update(keymap.Parse("esc"))
	}
	if log.calls != before {
		t.Errorf("%d questions outside a command", log.calls-before)
	}
}

// TestExportOverSSHIsACommand: no form opens that would write a file on the server.
func TestExportOverSSHIsACommand(t *testing.T) {
	r, _ := open(t, fake(), func(o *ui.Options) { o.About.Remote = "ssh -p 2222 ana@192.0.2.7" })
	r.Send(uitest.Key("e"))
	r.Has("Files here are on the server.", "ssh -p 2222 ana@192.0.2.7 audit export > FILE", "y copy the command")
}
