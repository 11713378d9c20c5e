package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/system/wholefile"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/views/approvals"
)

// people tracks other people on the same store: who is at the same place, whose write waits for approval.
type people struct {
	app     *app.App
	who     api.Actor
	board   *presence.Presence
	opens   string                       // what to type to see requests; "": the keys that open them
	greeted bool                         // the start messages were shown elsewhere
	begun   atomic.Pointer[[]ui.Command] // to open customers with an unfinished verification

	onMove  func()     // called when the person goes to another place; may be nil
	places  chan ui.At // the person's places; only the newest counts
	at      ui.At      // used by refresh only
	others  ui.Presence
	version int64
	known   map[string]approval.State
	open    []time.Time // when the requests lapse that this person may decide
	mine    []ui.AskedWrite
	shown   ui.Approvals // as sent to the shell last
}

func newPeople(a *app.App, who api.Actor) *people {
	return &people{app: a, who: who, places: make(chan ui.At, 1), known: map[string]approval.State{},
		board: presence.New(journal.NewPresence(a.Store.Core), a.Scope(), who.Name, app.HostName(), a.Session.Owner().ID,
			a.Now)}
}

// moved is called by the shell; it never blocks.
func (p *people) moved(at ui.At) {
	for {
		select {
		case p.places <- at:
			if p.onMove != nil {
				p.onMove()
			}
			return
		default:
		}
		select {
		case <-p.places:
		default:
		}
	}
}

// placeChanged reports whether the person is at another place than at the last refresh.
func (p *people) placeChanged() bool { return len(p.places) > 0 }

// objectOf is the presence object of a place; ok is false for anything but single operations and customers.
func objectOf(p ui.Place) (object string, ok bool) {
	switch p.Kind {
	case ui.KindOperation, ui.KindDocuments:
		return "operation", p.ID != ""
	case ui.KindCompliance:
		return "customer", p.ID != ""
	}
	return "", false
}

// refresh writes our place and returns what changed about others. Store errors are ignored here; work that needs the
// store reports them.
func (p *people) refresh(ctx context.Context) []any {
	select {
	case p.at = <-p.places:
	default:
	}
	var news []any
	object, ok := objectOf(p.at.Place)
	if !ok {
		p.others = ui.Presence{}
		if p.at.Place.Kind != "" {
			_ = p.board.Here(ctx, p.at.Place.Kind, "", p.at.Asking)
		}
	} else if err := p.board.Here(ctx, object, p.at.Place.ID, p.at.Asking); err == nil {
		news = append(news, p.company(ctx, object)...)
	}
	return append(append(news, p.requests(ctx)...), p.waiting()...)
}

// waiting returns the requests for this person if they changed by a request, a decision, or time.
func (p *people) waiting() []any {
	a, now := ui.Approvals{Mine: slices.Clone(p.mine)}, p.app.Now()
	for _, end := range p.open {
		if now.Before(end) {
			a.Waiting++
		}
	}
	if a.Waiting == p.shown.Waiting && slices.Equal(a.Mine, p.shown.Mine) {
		return nil
	}
	p.shown = a
	return []any{a}
}

func (p *people) company(ctx context.Context, object string) []any {
	found, err := p.board.Others(ctx, object, p.at.Place.ID)
	if err != nil {
		return nil
	}
	now := ui.Presence{At: p.at.Place}
	for _, o := range found {
		now.Others = append(now.Others, ui.Colleague{Name: untrusted.Text(o.Person).Line(20), Asking: o.Dialog})
	}
	if now.At == p.others.At && slices.Equal(now.Others, p.others.Others) {
		return nil
	}
	p.others = now
	return []any{now}
}

// requests reports new requests of others and decisions on our own.
func (p *people) requests(ctx context.Context) []any {
	v, err := p.app.Approvals.Version(ctx)
	if err != nil || v == p.version {
		return nil
	}
	first := p.version == 0
	list, err := p.app.Approvals.List(ctx)
	if err != nil {
		return nil
	}
	p.version = v
	p.open, p.mine = p.open[:0], p.mine[:0]
	news := []any{ui.Changed{Kind: "approvals"}}
	for _, r := range list {
		if approval.Decides(p.who, r) {
			p.open = append(p.open, r.Expires)
		}
		if slices.Contains(mattering, r.State) && approval.IsRequester(p.who, r) {
			p.mine = append(p.mine, ui.AskedWrite{Act: r.Act.Kind, ID: r.Act.ID, Item: r.Act.Item, Reason: r.Act.Reason,
				State: r.State, By: decider(r), Until: r.Expires})
		}
		before, seen := p.known[r.ID]
		p.known[r.ID] = r.State
		if seen && before == r.State {
			continue
		}
		if t, ok := p.toast(r, first); ok {
			news = append(news, t)
		}
	}
	return news
}

// mattering are the states of own requests that the header shows, or that word a question.
var mattering = []approval.State{approval.Open, approval.Approved, approval.Denied}

// shortIDs shortens the ids in a sentence.
func shortIDs(sentence string) string {
	words := strings.Fields(sentence)
	for i, w := range words {
		if id := strings.TrimRight(w, ":,."); len(id) == 36 && api.CheckID("", id) == nil {
			words[i] = draw.ID(id, 13) + w[len(id):]
		}
	}
	return strings.Join(words, " ")
}

func (p *people) toast(r approval.Request, first bool) (ui.Toast, bool) {
	mine := approval.IsRequester(p.who, r)
	what, keys, by := untrusted.Text(shortIDs(r.Act.Summary)).Line(100), keysOf(p.app), decider(r)
	switch {
	case approval.Decides(p.who, r):
		return ui.Toast{Level: ui.Warning, Text: untrusted.Text(r.Requester.Name).Line(30) + " asks for approval: " +
			what + ".", Hint: ui.Hint{Opens: ui.Place{Kind: approvals.Kind},
			Text: cmp.Or(p.opens, press(keys.Global.Audit)+" then "+press(keys.Audit.Approvals)) + " shows it."}}, true
	case first || !mine:
		return ui.Toast{}, false
	case r.State == approval.Approved:
		return ui.Toast{Level: ui.Success, Text: by + " approved: " + what + ". Press the key again to send it."},
			true
	case r.State == approval.Denied:
		return ui.Toast{Level: ui.Denied, Text: by + " denied: " + what + ". " + untrusted.Text(r.Comment).Line(100)}, true
	}
	return ui.Toast{}, false
}

// decider names who decided a request.
func decider(r approval.Request) string {
	if r.Decider == nil {
		return "a colleague"
	}
	return untrusted.Text(r.Decider.Name).Line(30)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// keysOf are the keys with those that the config changes; a may be nil.
func keysOf(a *app.App) *keymap.Map {
	m := keymap.New()
	if a != nil {
		m.Remap(a.Config.Presses())
	}
	return m
}

// press names a key as in the help.
func press(k keymap.Key) string { return k.Help().Key }

// leave ends our presence.
func (p *people) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.board.Leave(ctx)
}

// reveal records that masked values are shown; without a record they stay masked.
func reveal(a *app.App) func(context.Context, ui.Place) error {
	return func(ctx context.Context, at ui.Place) error {
		err := mask.Record(ctx, a.Audit, api.Event{Name: audit.EventReveal, Object: at.Kind, ID: at.ID,
			Detail: "masked values shown for 30 s"})
		if err == nil {
			return nil
		}
		e := *api.AsError(err)
		e.Public = strings.TrimSpace(e.Public + " " + remedy.Screen(&e)) // a notice shows only this
		return &e
	}
}

// reminders are shown once at the start: a greeting, and what an earlier shift or a crash left unfinished.
func (p *people) reminders(ctx context.Context) []any {
	a := p.app
	var out []any
	if line := greeting(a); line != "" {
		out = append(out, ui.Toast{Level: ui.Info, Text: line})
	}
	p.noteBegun(ctx)
	if left := unfinished(ctx, a, press(keysOf(a).Operations.Customers)+" lists"); len(left) == 1 {
		out = append(out, ui.Toast{Level: ui.Warning, Text: left[0].sentence})
	} else if len(left) > 1 {
		t := ui.Toast{Level: ui.Warning}
		var names []string
		for _, l := range left {
			names, t.Each = append(names, l.what), append(t.Each, l.sentence)
		}
		t.Text = fmt.Sprintf("%d things need attention: %s; %s shows what to do.", len(left), strings.Join(names, ", "),
			press(keysOf(a).Global.Activity))
		out = append(out, t)
	}
	return out
}

// noteBegun updates the palette's entries for unfinished verifications.
func (p *people) noteBegun(ctx context.Context) {
	waits, err := begunVerifications(ctx, p.app)
	if err != nil {
		return
	}
	var list []ui.Command
	for _, w := range waits {
		list = append(list, ui.Command{Title: "verification of " + w.Text, About: w.About, Do: ui.Open{Place: w.Place}})
	}
	p.begun.Store(&list)
}

// begunVerifications are the customers whose verification was started and not finalized.
func begunVerifications(ctx context.Context, a *app.App) ([]ui.Found, error) {
	open, err := a.Journeys.Store.UnfinishedJourneys(ctx)
	find := &finder{backend: &backend{app: a}}
	var out []ui.Found
	for _, r := range open {
		out = append(out, ui.Found{Place: ui.Place{Kind: ui.KindCompliance, ID: r.CUID}, Text: find.customerName(ctx, r.CUID),
			About: "started, not finalized"})
	}
	return out, err
}

// waiting is something that an earlier shift or a crash left unfinished.
type waiting struct {
	what     string // "1 verification"
	sentence string // what it is and what opens it
}

// unfinished lists what was left unfinished; opens says what opens an unfinished verification: "4 lists".
func unfinished(ctx context.Context, a *app.App, opens string) []waiting {
	keys := keysOf(a)
	var left []waiting
	if jobs, err := a.Jobs.Store.Unfinished(ctx); err == nil && len(jobs) > 0 {
		left = append(left, waiting{"a replacement is unfinished",
			"A replacement of " + jobs[0].OldName + " is unfinished; open the documents of " + jobs[0].OPID + " and press " +
				press(keys.Documents.Replace) + "."})
	}
	if waits, err := begunVerifications(ctx, a); err == nil && len(waits) > 0 {
		names := waits[0].Text
		switch {
		case len(waits) == 2:
			names += " and " + waits[1].Text
		case len(waits) > 2:
			names += " and " + format.Plural(len(waits)-1, "other", "others")
		}
		left = append(left, waiting{format.Plural(len(waits), "verification is", "verifications are") + " begun",
			format.Plural(len(waits), "verification waits", "verifications wait") + ": " + names + "; " + opens + " " +
				plural(len(waits), "it", "them") + "."})
	}
	if acts, err := a.Trail().Unsettled(ctx); err == nil && len(acts) > 0 {
		what := format.Plural(len(acts), "write has", "writes have") + " an unknown outcome"
		left = append(left, waiting{what, what + "; " + press(keys.Global.Audit) + " lists them."})
	}
	return left
}

// personFile is the path of a file of the person in ctx in a subfolder of the state folder; "" if nothing is stored.
// The same name may mean different people over SSH and locally, so their files are separate.
func (d *backend) personFile(ctx context.Context, folder string) string {
	if d.app.Config.Store.URL == "memory" || d.app.State == "" {
		return ""
	}
	who, way := api.ActorOf(ctx), "local"
	if who.Via == "ssh" {
		way = "ssh"
	}
	sum := sha256.Sum256([]byte(way + "\x00" + who.Name))
	return filepath.Join(d.app.State, folder, hex.EncodeToString(sum[:12])+".json")
}

// errDamaged: a person's file is not valid JSON of its kind.
var errDamaged = &api.Error{Op: "read a person's file", Kind: api.Unavailable,
	Public: "your file of columns, views and filters cannot be read; it is renamed to .damaged when the next choice is " +
		"saved."}

// readPersonFile reads a file of at most max bytes into v; if it is missing or too large, v is unchanged; invalid
// JSON is errDamaged.
func readPersonFile(path string, max int64, v any) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return err
	}
	if int64(len(b)) <= max {
		if json.Unmarshal(b, v) != nil {
			return errDamaged
		}
	}
	return nil
}

// writePersonFile replaces the file atomically: mode 0600 in a folder 0700.
func writePersonFile(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Replace(path, append(b, '\n'))
}

// sharedFor is how old a reading may be that another console made. A store without versions may have changed since.
const sharedFor = pollEvery / 2

// readings are what every console of a server reads of the store by itself when it has changed. It is the same for all
// of them: with 200 consoles these reads were most of what an idle server did.
type readings struct {
	status  recent[session.Status]
	usage   recent[[]limit.Usage]
	sync    recent[*string] // the line about the background sync; nil while idle
	verdict recent[verdict.Verdict]
	polled  recent[bool]      // the index was asked whether it changed
	read    recent[time.Time] // when news, or all of the list, were read from the service last
	fresh   recent[index.Freshness]
}

// newReadings returns readings that are shared for a time; for 0 every console makes its own.
func newReadings(keep time.Duration) *readings {
	return &readings{status: recent[session.Status]{keep: keep}, usage: recent[[]limit.Usage]{keep: keep},
		sync: recent[*string]{keep: keep}, verdict: recent[verdict.Verdict]{keep: keep}, polled: recent[bool]{keep: keep},
		read: recent[time.Time]{keep: keep}, fresh: recent[index.Freshness]{keep: keep}}
}

// recent is the last reading of a value, which is not changed afterwards.
type recent[T any] struct {
	keep  time.Duration
	mu    sync.Mutex    // held while one console reads; the others wait for its answer
	at    time.Time     // guarded by mu: of the reading; zero: none
	stamp store.Version // guarded by mu: of the store before it
	value T             // guarded by mu
}

// read returns the last reading if the store has not changed since, and when it was made; else it reads. stamp is of
// the store just before. A reading that failed is not kept.
func (r *recent[T]) read(a *app.App, stamp store.Version, fresh func() (T, error)) (value T, at time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := a.Now()
	if age := now.Sub(r.at); !r.at.IsZero() && stamp == r.stamp && age >= 0 && age < r.keep {
		return r.value, r.at, nil
	}
	if value, err = fresh(); err != nil {
		return value, now, err
	}
	r.at, r.stamp, r.value = now, stamp, value
	return value, now, nil
}
