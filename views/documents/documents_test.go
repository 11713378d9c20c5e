package documents

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/evidence"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/replace"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

func TestScreens(t *testing.T) {
	for name, c := range map[string]struct {
		op   api.Operation
		err  error
		keys []string
	}{
		"list":     {op: apitest.Operation(nil)},
		"empty":    {op: apitest.Operation(map[string]any{"documents": []any{}})},
		"ended":    {op: apitest.Operation(map[string]any{"status": "SUCCESS"})},
		"hostile":  {op: apitest.HostileOperation()},
		"error":    {err: &api.Error{Kind: api.NotFound, Public: "The service has no such operation.", Hint: "Check the opid."}},
		"question": {op: apitest.Operation(nil), keys: []string{"x"}},
		"locked":   {op: apitest.Operation(nil), keys: []string{"down", "down", "x"}},
		"upload":   {op: apitest.Operation(nil), keys: []string{"u"}},
	} {
		for size, wh := range shelltest.Drawn(name, "list") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r, _ := open(t, &fake{op: c.op, err: c.err})
				r.Send(uitest.Size(wh[0], wh[1]))
				for _, k := range c.keys {
					r.Send(uitest.Key(k))
				}
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestRemoveAndPutBack does the pair of acts that most people do.
func TestRemoveAndPutBack(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	var asked api.RemoveDocument
	f.remove = func(r api.RemoveDocument) (api.Operation, error) {
		asked = r
		return without(f.op, r.GUID), nil
	}
	f.attach = func(guid, _ string) (api.Operation, error) {
		if guid != asked.GUID {
			t.Errorf("put back %s, removed %s", guid, asked.GUID)
		}
		return f.op, nil
	}
	r, clock := open(t, f)
	r.Send(uitest.Key("x"))
	r.Has("Remove invoice.pdf from operation")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	if asked.OPID != opid || !strings.HasPrefix(asked.GUID, "ba464e45") || asked.Force || asked.Seen == nil {
		t.Fatalf("asked for %+v", asked)
	}
	r.Has("Removed invoice.pdf. To restore it: z.")
	if strings.Contains(r.View(), "7.1 kB") || strings.Count(r.View(), "invoice.pdf") != 1 {
		t.Errorf("the row is still there:\n%s", r.View())
	}
	r.Send(uitest.Key("z"))
	r.Has("Restore invoice.pdf on operation", "[ No ]")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("Restored invoice.pdf.")
	r.Send(uitest.Key("z"))
	r.Has("Nothing to restore")
}

// TestNothingIsRemovedByAccident presses what is not a yes.
func TestNothingIsRemovedByAccident(t *testing.T) {
	for name, keys := range map[string]func(*uitest.Clock) []any{
		"enter":       func(c *uitest.Clock) []any { return []any{c.Wait(shelltest.Armed), uitest.Key("enter")} },
		"esc":         func(c *uitest.Clock) []any { return []any{c.Wait(shelltest.Armed), uitest.Key("esc")} },
		"n":           func(c *uitest.Clock) []any { return []any{c.Wait(shelltest.Armed), uitest.Key("n")} },
		"too early":   func(c *uitest.Clock) []any { return []any{uitest.Key("y")} },
		"pasted":      func(c *uitest.Clock) []any { return []any{c.Wait(shelltest.Armed), uitest.Paste("y")} },
		"typed burst": func(c *uitest.Clock) []any { return []any{c.Wait(shelltest.Armed), uitest.Burst("yes")} },
		"x again":     func(c *uitest.Clock) []any { return []any{c.Wait(shelltest.Armed), uitest.Key("x")} },
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{op: apitest.Operation(nil)}
			f.remove = func(api.RemoveDocument) (api.Operation, error) { t.Error("removed"); return f.op, nil }
			r, clock := open(t, f)
			r.Send(uitest.Key("x"))
			for _, k := range keys(clock) {
				r.Send(k)
			}
		})
	}
}

func TestProductionWantsTheEndOfTheID(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	n := 0
	f.remove = func(r api.RemoveDocument) (api.Operation, error) { n++; return without(f.op, r.GUID), nil }
	r, clock := open(t, f, shelltest.Production)
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"), clock.Wait(time.Second), uitest.Key("enter"))
	if n != 0 {
		t.Fatal("y is enough in production")
	}
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed))
	r.Send(uitest.Type("b79d"), clock.Wait(time.Second), uitest.Key("enter"))
	if n != 1 {
		t.Errorf("removed %d times after the id's end was typed:\n%s", n, r.View())
	}
}

func TestLockedIsExplainedAndNeverSent(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	r, clock := open(t, f)
	r.Send(uitest.Key("down"), uitest.Key("down"), uitest.Key("x"))
	r.Has("This document is locked and cannot be removed.", "Only the compliance team can unlock it.")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"), uitest.Key("enter"), uitest.Key("R"))
	r.Has("cannot be replaced")
}

func TestRefusalsAreExplained(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{api.Classify("remove document", 409, []byte(`{"error":"Cannot modify documents for completed operations"}`)), []string{"refused", "Documents of a completed operation cannot be changed."}},
		{api.Classify("remove document", 423, []byte(`{"error":"Document is locked and cannot be removed"}`)), []string{"refused", "Ask them to remove this one"}},
		{api.Classify("remove document", 404, []byte(`{"error":"Document not found: x"}`)), []string{"refused", "has no such document"}},
		{api.Classify("remove document", 409, []byte(`{"error":"Document x is not attached to operation y"}`)), []string{"refused", "not attached"}},
		{&api.Error{Kind: api.UnknownOutcome, Public: "It was sent, the answer was lost.", Hint: "Look at the object."}, []string{"unknown outcome", "Look at the object."}},
		{&api.Error{Kind: api.RateLimited, Public: "The budget of billing calls is used up for another 12s."}, []string{"failed", "used up"}},
	} {
		f := &fake{op: apitest.Operation(nil)}
		f.remove = func(api.RemoveDocument) (api.Operation, error) { return api.Operation{}, c.err }
		r, clock := open(t, f)
		r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"))
		r.Has(c.want...)
		r.Has("invoice.pdf") // nothing is shown as done
	}
}

// TestAChangeWithdrawsTheQuestion: while it is open, somebody else locks the
// document.
func TestAChangeWithdrawsTheQuestion(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	f.remove = func(api.RemoveDocument) (api.Operation, error) {
		t.Error("removed after it changed")
		return f.op, nil
	}
	r, clock := open(t, f)
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed))
	changed := apitest.Operation(map[string]any{"documents": []any{apitest.Document("ba464e45", "invoice.pdf", true)}})
	r.Send(ui.Changed{Kind: ui.KindOperation, ID: opid, Object: changed, Origin: "webhook"})
	r.Has("changed in the meantime")
	r.Send(uitest.Key("y"))
}

func TestUnfinishedJobIsOffered(t *testing.T) {
	f := &fake{op: apitest.Operation(nil), jobs: []replace.Job{{ID: "j1", OPID: opid, OldGUID: "gone", OldName: "old.pdf", Step: replace.Uploaded, NewGUID: "f-1"}}}
	resumed := ""
	f.attach = func(guid, _ string) (api.Operation, error) { resumed += guid; return f.op, nil }
	r, clock := open(t, f)
	r.Has("A replacement of old.pdf is unfinished; R resumes", "the old document is removed, the new one is uploaded but not attached")
	r.Send(uitest.Key("R"))
	r.Has("Resume", "Abandon")
	r.Send(uitest.Key("enter"))
	r.Has("Resume: check the outcome, then go on?", "the new one is uploaded", "[ No ]")
	if resumed != "" {
		t.Fatal("resumed before the answer")
	}
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	if resumed != "f-1" {
		t.Errorf("resumed %q", resumed)
	}
	r.Has("Replaced old.pdf.")
}

// TestAQuestionCountsTheCalls: before a job of several calls begins, its question says what is left of the budget and
// how long the last call would wait; nothing where all of them have room.
func TestAQuestionCountsTheCalls(t *testing.T) {
	for name, c := range map[string]struct {
		ahead []time.Duration
		says  []string
	}{
		"room":      {[]time.Duration{0, 0, 0, 0}, nil},
		"two left":  {[]time.Duration{0, 0, 23 * time.Second, 41 * time.Second}, []string{"needs 4 billing calls", "2 can be sent now", "waits about 41s"}},
		"none left": {[]time.Duration{5 * time.Second, 9 * time.Second, 23 * time.Second, 50 * time.Second}, []string{"needs 4 billing calls", "none can be sent now", "waits about 50s"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, clock := open(t, &fake{op: apitest.Operation(nil), dir: t.TempDir()})
			b := ui.BudgetFacts{Class: "billing", Room: 2, Limit: 12}
			for _, d := range c.ahead {
				b.Ahead = append(b.Ahead, clock.Now().Add(d))
			}
			r.Send(b, uitest.Size(120, 40), uitest.Key("R"), uitest.Paste(newFile(t)), uitest.Key("enter"), uitest.Key("enter"), uitest.Key("enter"))
			r.Has("the operation has neither")
			if r.Has(c.says...); c.says == nil {
				r.HasNot("This needs")
			}
		})
	}
}

// TestAJobIsTakenFromTheStore: as it is when the answer is yes, not as it was shown.
func TestAJobIsTakenFromTheStore(t *testing.T) {
	f := &fake{op: apitest.Operation(nil), jobs: []replace.Job{{ID: "j1", OPID: opid, OldGUID: "gone", OldName: "old.pdf", Step: replace.Uploaded}}}
	r, clock := open(t, f)
	r.Send(uitest.Keys("R", "enter"))
	f.jobs = nil // another process ended it
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("Replacement refused", "There is no such job.")
}

// TestReplacementKeepsTypeAndInfo: they are taken over unless a person writes others;
// the question shows what was and what will be. What cannot be typed is not taken over.
func TestReplacementKeepsTypeAndInfo(t *testing.T) {
	op := apitest.Operation(nil)
	op.Documents = []api.Document{{GUID: "ba464e45-f391-4664-ae43-fc789ef2b79d", FileName: "contract.pdf", Size: 1000, DocType: "Contract_old", Info: "Signed contract"}}
	odd := op
	odd.Documents = []api.Document{{GUID: "ba464e45-f391-4664-ae43-fc789ef2b79d", FileName: "contract.pdf", DocType: "CONTRACT", Info: "a\u202eb"}}
	for name, c := range map[string]struct {
		op       api.Operation
		type1    string // typed over the type; empty: left
		question []string
		sent     string
	}{
		"left":    {op, "", []string{"contract.pdf (1.0 kB) → new.pdf", "Contract_old, unchanged", "Signed contract, unchanged"}, "Contract_old|Signed contract"},
		"changed": {op, "invoice", []string{"Contract_old → INVOICE", "Signed contract, unchanged"}, "INVOICE|Signed contract"},
		"odd":     {odd, "", []string{"CONTRACT, unchanged", "→ none given"}, "CONTRACT|"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{op: c.op, dir: t.TempDir()}
			f.remove = func(api.RemoveDocument) (api.Operation, error) { return f.op, nil }
			f.upload = func(string) (api.CustomerFile, error) { return api.CustomerFile{ID: "f-1"}, nil }
			f.attach = func(string, string) (api.Operation, error) { return f.op, nil }
			r, clock := open(t, f)
			r.Send(uitest.Size(120, 40), uitest.Key("R"), uitest.Paste(newFile(t)), uitest.Key("enter"))
			if c.type1 != "" {
				r.Send(uitest.Key("ctrl+u"), uitest.Type(c.type1))
			}
			r.Send(uitest.Key("enter"), uitest.Key("enter"))
			r.Has(c.question...)
			r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
			if got := strings.Join(f.described, " "); got != c.sent {
				t.Errorf("sent %q, not %q", got, c.sent)
			}
			r.Has("Replaced contract.pdf.")
		})
	}
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	factory := func(env *ui.Env, p ui.Place) ui.Screen { return NewScreen(env, f.caller(), f.parts(), p.ID) }
	shelltest.PressAll(uitest.NewClock(), factory, ui.Place{Kind: ui.KindDocuments, ID: opid},
		ui.Changed{Kind: ui.KindOperation, ID: opid, Object: f.op})
	if f.calls != 0 {
		t.Errorf("%d requests outside a command", f.calls)
	}
}

func TestEverySize(t *testing.T) {
	r, _ := open(t, &fake{op: apitest.HostileOperation()})
	shelltest.Sizes(r)
	r.Send(uitest.Key("x"))
	shelltest.Sizes(r)
}

// TestTheHeadGivesTheNameItsRoom: the customer's name is cut only where the line is full.
func TestTheHeadGivesTheNameItsRoom(t *testing.T) {
	op := apitest.Operation(nil)
	name := "José María Fernández-Cavada y Ruiz de la Fuente"
	op.Customer.Name = untrusted.Text(name)
	for w := 60; w <= 200; w += 10 {
		r, _ := open(t, &fake{op: op})
		r.Send(uitest.Size(w, 30))
		head := strings.TrimRight(strings.Split(r.View(), "\n")[2+min(w/80, 1)], " ")
		if !strings.Contains(head, name) && draw.Width(head) != w-ui.Margins && draw.Width(head) != w-ui.Margins/2 && draw.Width(head) != w {
			t.Errorf("at %d cells the name is cut in %d: %s", w, draw.Width(head), head)
		}
	}
}

// TestWhatIsNotKnownIsSaid: a removal whose outcome is unknown is on the
// screen, and its document is not removed or replaced meanwhile.
func TestWhatIsNotKnownIsSaid(t *testing.T) {
	op := apitest.Operation(nil)
	guid := string(op.Documents[0].GUID)
	f := &fake{op: op, open: []followup.Row{{State: followup.Unknown, Sent: time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC),
		Until: time.Date(2026, 3, 2, 11, 15, 0, 0, time.UTC),
		Write: followup.Write{Kind: api.ActRemoveDocument, Object: "operation", ID: opid, Item: guid, Name: "invoice.pdf"}}}}
	r, _ := open(t, f)
	r.Send(uitest.Size(200, 40)) // where nothing is wrapped
	r.Has("? Removing invoice.pdf", "unknown outcome. It may still arrive until 11:15:00; opdeck checks again by itself.")
	for _, key := range []string{"x", "R"} {
		r.Send(uitest.Key(key))
		r.Has("r checks now")
	}
	f.open = nil
	r.Send(uitest.Key("r"))
	if strings.Contains(r.View(), "? Removing") {
		t.Error("what is settled is still said to be open")
	}
	f.gone = map[string]time.Time{guid: time.Date(2026, 3, 2, 11, 1, 0, 0, time.UTC)} // a lagging read lists it
	r.Send(uitest.Key("r"))
	r.Has("invoice.pdf was removed with opdeck at 11:01:00: this read may be older, or")
	r.Send(uitest.Key("x"))
	r.Has("Remove invoice.pdf from", "removed with opdeck at 11:01:00")
}

// TestRemovalThatMayStillArrive: the document is gone, and the request of its removal had no answer. The screen says so
// with its time, and z does not restore it before that.
func TestRemovalThatMayStillArrive(t *testing.T) {
	for _, wh := range [][2]int{{80, 24}, {120, 40}} {
		f := &fake{op: apitest.Operation(nil)}
		f.attach = func(string, string) (api.Operation, error) { t.Error("attached"); return f.op, nil }
		book := &evidence.Book{}
		f.remove = func(r api.RemoveDocument) (api.Operation, error) {
			until := time.Date(2026, 3, 2, 11, 15, 0, 0, time.UTC)
			book.Add(evidence.Conclusion{Kind: evidence.Act, Says: "removed", Object: opid, Item: r.GUID, Read: true,
				Open: api.MayArrive(until)})
			book.Add(evidence.Conclusion{Kind: evidence.Act, Says: "removed", Object: opid, Item: "another", Open: "of another"})
			f.open = []followup.Row{{State: followup.Seen, Sent: until.Add(-15 * time.Minute), Until: until,
				Write: followup.Write{Kind: api.ActRemoveDocument, Object: "operation", ID: opid, Item: r.GUID, Name: "invoice.pdf"}}}
			return without(f.op, r.GUID), nil
		}
		r, clock := open(t, f, func(o *ui.Options) { o.Context = evidence.In(t.Context(), book) })
		r.Send(uitest.Size(wh[0], wh[1]), uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"))
		r.Has("A read confirms: Removed", "No answer says whether our request", "11:15:00 UTC.", "a read shows the wanted state")
		r.Send(uitest.Key("z"))
		r.Has("neither repeated nor undone")
		f.open = nil
		r.Send(uitest.Key("r"), uitest.Key("z"))
		r.Has("Restore ")
	}
}

// TestLateRemovalCanBePutBack: a removal that is proven by a later read is the one that z puts
// back, and so is one that was put back meanwhile no more.
func TestLateRemovalCanBePutBack(t *testing.T) {
	op := apitest.Operation(nil)
	doc := op.Documents[0]
	var attached []string
	f := &fake{op: op, open: []followup.Row{{State: followup.Unknown, Sent: time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC),
		Write: followup.Write{Kind: api.ActRemoveDocument, Object: "operation", ID: opid, Item: string(doc.GUID), Name: "late.pdf"}}}}
	f.attach = func(guid, _ string) (api.Operation, error) { attached = append(attached, guid); return op, nil }
	r, clock := open(t, f)
	r.Send(uitest.Size(200, 40), uitest.Key("z"))
	r.Has("Nothing to restore: no document was removed here.")
	f.op.Documents, f.open = op.Documents[1:], nil
	r.Send(uitest.Key("r"), uitest.Key("z"))
	r.Has("late.pdf")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	if !slices.Equal(attached, []string{string(doc.GUID)}) {
		t.Errorf("put back: %v", attached)
	}
}

// TestEveryWriteAsks: nothing is sent before the answer is yes, also in production,
// where these take no typed characters.
func TestEveryWriteAsks(t *testing.T) {
	file := newFile(t)
	for name, c := range map[string]struct {
		keys []tea.Msg
		ask  string
		sent string
	}{
		"attach": {[]tea.Msg{uitest.Key("a"), uitest.Type("d-4711"), uitest.Keys("enter", "enter")}, "Attach file ", "attach d-4711"},
		"upload": {[]tea.Msg{uitest.Key("u"), uitest.Paste(file), uitest.Keys("enter", "enter", "enter")}, "Upload new.pdf and attach it to the operation?", "upload " + file + " attach f-1"},
	} {
		for _, answer := range []string{"y", "n", "enter"} {
			t.Run(name+" "+answer, func(t *testing.T) {
				var sent []string
				f := &fake{op: apitest.Operation(nil)}
				f.attach = func(guid, _ string) (api.Operation, error) { sent = append(sent, "attach "+guid); return f.op, nil }
				f.upload = func(path string) (api.CustomerFile, error) {
					sent = append(sent, "upload "+path)
					return api.CustomerFile{ID: "f-1"}, nil
				}
				r, clock := open(t, f, shelltest.Production)
				r.Send(c.keys...)
				r.Has(c.ask, "[ No ]", opid)
				if len(sent) != 0 {
					t.Fatalf("sent %q before the answer", sent)
				}
				r.Send(clock.Wait(shelltest.Armed), uitest.Key(answer))
				want := c.sent
				if answer != "y" {
					want = ""
				}
				if got := strings.Join(sent, " "); got != want {
					t.Errorf("sent %q", got)
				}
			})
		}
	}
}

var _ tea.Model = (*Screen)(nil)

// TestAlone runs the documents without the shell: a document is removed once its question is
// answered.
func TestAlone(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	f.remove = func(r api.RemoveDocument) (api.Operation, error) { return without(f.op, r.GUID), nil }
	p := shelltest.Alone(uitest.NewProgram(t), ui.Options{Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())},
		func(env *ui.Env) ui.Model { return NewScreen(env, f.caller(), f.parts(), opid) })
	p.See("invoice.pdf").Type("x").See("Remove invoice.pdf from operation")
	p.Type("Y").See("Removed invoice.pdf.").Type("\x03").Ended()
}

// TestDoneAndNotShown: a proven write is done, also when the operation could not be
// read to show it.
func TestDoneAndNotShown(t *testing.T) {
	f := &fake{op: apitest.Operation(nil), remove: func(api.RemoveDocument) (api.Operation, error) { return api.Operation{}, nil }}
	r, clock := open(t, f)
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("Removed", "could not be read", "older than the last write")
}

// TestTheListIsTheOneList: documents are filtered while the filter is typed, and sorted,
// and the count line says both.
func TestTheListIsTheOneList(t *testing.T) {
	r, clock := open(t, &fake{op: apitest.Operation(nil)})
	r.Has("3 documents", "invoice.pdf", "contract.pdf")
	r.Send(uitest.Key("/"), uitest.Type("name:contract"))
	r.Has("1 of 1", "tab")
	r.Send(uitest.Key("enter"))
	r.Has("1 document of 3  / name:contract")
	if strings.Contains(r.View(), "invoice.pdf") {
		t.Errorf("a document that the filter hides is shown\n%s", r.View())
	}
	r.Send(uitest.Key("/"), uitest.Key("ctrl+u"), uitest.Type("has:locked size>1"), uitest.Key("enter"))
	r.Has("請求書.pdf", "▣ locked")
	r.Send(uitest.Key("x"), clock.Wait(shelltest.Armed))
	r.Has("This document is locked and cannot be removed.")
	r.Send(uitest.Key("esc"), uitest.Key("esc"), uitest.Key("s"), uitest.Type("size"), uitest.Key("enter"))
	r.Has("3 documents  by size ▲")
	r.Send(uitest.Keys("right", "s"))
	r.Has("3 documents  by name ▲", "name         contract.pdf")
	r.Send(uitest.Key("s"))
	r.Has("by name ▼", "name         請求書.pdf")
}

// TestWhatIsKnownOfTheOperation: h and C open history and customer of the operation.
func TestWhatIsKnownOfTheOperation(t *testing.T) {
	for key, kind := range map[string]string{"h": ui.KindHistory, "C": ui.KindCompliance} {
		f := &fake{op: apitest.Operation(nil)}
		clock := uitest.NewClock()
		factory := func(env *ui.Env, p ui.Place) ui.Screen {
			if p.Kind != ui.KindDocuments {
				return nil
			}
			return NewScreen(env, f.caller(), f.parts(), p.ID)
		}
		r := shelltest.Open(t, clock, factory, ui.Place{Kind: ui.KindDocuments, ID: opid})
		r.Send(uitest.Key(key))
		r.Has("No screen for this: " + kind + ".")
	}
}
