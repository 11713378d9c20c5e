package console

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/field"
	"opdeck/internal/present"
	"opdeck/internal/store"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/views/approvals"
	"opdeck/views/audittrail"
	"opdeck/views/compliance"
	"opdeck/views/documents"
	"opdeck/views/events"
	"opdeck/views/history"
	"opdeck/views/limits"
	"opdeck/views/oncall"
	"opdeck/views/operation"
	"opdeck/views/operations"
	"opdeck/views/records"
	"opdeck/views/sessions"
)

const (
	maxAnswers = 32  // per state of the index
	maxShared  = 600 // operations of one generation shared by consoles
)

// Shared is shared by the consoles of one server: most of them show the same rows, so those are read, decoded and
// stored once, until the index is written to. Masked and unmasked answers are separate, so that no one gets values
// that their role may not see.
type Shared struct {
	app      *app.App
	readings *readings

	mu      sync.Mutex
	stamp   store.Version              // guarded by mu: index version of the answers
	version int64                      // guarded by mu: likewise
	windows answers[operations.Window] // guarded by mu
	counts  answers[int64]             // guarded by mu
	places  answers[index.Place]       // guarded by mu
	young   map[string]api.Operation   // guarded by mu: by mask and id
	old     map[string]api.Operation   // guarded by mu: the previous generation
}

// NewShared returns the shared state for consoles of a.
func NewShared(a *app.App) *Shared {
	return &Shared{app: a, readings: newReadings(sharedFor), windows: answers[operations.Window]{},
		counts: answers[int64]{}, places: answers[index.Place]{}, young: map[string]api.Operation{}}
}

// answers maps queries to answers.
type answers[T any] map[string]*answer[T]

// answer is complete, or being read.
type answer[T any] struct {
	ready chan struct{} // closed when the rest is set
	value T
	err   error
}

// common is the list of operations for a console of a server.
type common struct {
	listing
	shared *Shared
}

// rowsFor is the index for the list of operations; without other consoles nothing is shared.
func (s *Shared) rowsFor(l listing) operations.Index {
	if s == nil {
		return l
	}
	return common{l, s}
}

// Window reads rows, or returns those that another console has read from the same state of the index.
func (c common) Window(ctx context.Context, q index.Query) (operations.Window, error) {
	read := func() (operations.Window, error) {
		w, err := c.listing.Window(ctx, q)
		c.shared.intern(mask.Needed(ctx), w.Ops)
		return w, err
	}
	if !c.shared.current(ctx) || !q.Filter.Empty() { // a filter may depend on the time
		return read()
	}
	q.Filter = filter.OperationExpr{}
	return ask(ctx, c.shared, c.shared.windows, fmt.Sprintf("%v %+v", mask.Needed(ctx), q), read)
}

// Freshness is read once for all who ask at the same time, if it is known that the store did not change meanwhile.
func (c common) Freshness(ctx context.Context) (index.Freshness, error) {
	a := c.shared.app
	stamp, versioned := a.Store.Version(ctx)
	if !versioned {
		return c.x.Freshness(ctx)
	}
	f, _, err := c.shared.readings.fresh.read(a, stamp, func() (index.Freshness, error) { return c.x.Freshness(ctx) })
	return f, err
}

// Place finds an operation once for each state of the index.
func (c common) Place(ctx context.Context, f filter.OperationExpr, s index.Sort, opid string) (index.Place, error) {
	read := func() (index.Place, error) { return c.listing.Place(ctx, f, s, opid) }
	if !c.shared.current(ctx) || !f.Empty() {
		return read()
	}
	return ask(ctx, c.shared, c.shared.places, fmt.Sprintf("%+v %s", s, opid), read)
}

// Consistent uses the shared answers if no one writes to the index meanwhile, else a snapshot of its own.
func (c common) Consistent(ctx context.Context, fn func(operations.Index) error) error {
	before, err := c.x.Version(ctx)
	if err != nil {
		return err
	}
	if err := fn(c); err != nil {
		return err
	}
	if after, err := c.x.Version(ctx); err != nil || after == before {
		return err
	}
	return c.listing.Consistent(ctx, fn)
}

// Count counts all rows once for each state of the index.
func (c common) Count(ctx context.Context, f filter.OperationExpr) (int64, error) {
	read := func() (int64, error) { return c.listing.Count(ctx, f) }
	if !c.shared.current(ctx) || !f.Empty() {
		return read()
	}
	return ask(ctx, c.shared, c.shared.counts, "", read)
}

// current reports whether answers can be shared, and drops those of an earlier state of the index. Only SQLite files
// have versions.
func (s *Shared) current(ctx context.Context) bool {
	stamp, versioned := s.app.Store.Version(ctx)
	if !versioned || s.app.Index.Mode() != index.Shared {
		return false
	}
	version, err := s.app.Index.Version(ctx)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stamp = stamp.Index(); stamp != s.stamp || version != s.version {
		s.stamp, s.version = stamp, version
		clear(s.windows)
		clear(s.counts)
		clear(s.places)
	}
	return true
}

// ask returns the answer to a query that was made already, or reads it while concurrent callers wait. If the reader
// is cancelled, each waiter reads for itself.
func ask[T any](ctx context.Context, s *Shared, all answers[T], question string, read func() (T, error)) (T, error) {
	s.mu.Lock()
	a, there := all[question]
	if !there {
		a = &answer[T]{ready: make(chan struct{})}
		if len(all) >= maxAnswers {
			clear(all)
		}
		all[question] = a
	}
	s.mu.Unlock()
	if !there {
		a.value, a.err = read()
		if a.err != nil {
			s.mu.Lock()
			if all[question] == a {
				delete(all, question)
			}
			s.mu.Unlock()
		}
		close(a.ready)
		return a.value, a.err
	}
	select {
	case <-a.ready:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	if a.err != nil {
		return read()
	}
	return a.value, nil
}

// intern replaces equal texts in operations by the copies of other consoles, so that each is stored once.
func (s *Shared) intern(masked bool, ops []api.Operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, op := range ops {
		if len(op.Raw) == 0 {
			continue
		}
		id := fmt.Sprint(masked, " ", op.OPID)
		held, there := s.young[id]
		if !there {
			held, there = s.old[id]
		}
		if there && bytes.Equal(held.Raw, op.Raw) {
			op, ops[i] = held, held
		}
		if len(s.young) >= maxShared {
			s.old, s.young = s.young, map[string]api.Operation{}
		}
		s.young[id] = op
	}
}

// listing queries the index with the console's clock, masked for the role.
type listing struct {
	x   *index.Index
	now func() time.Time
}

func (l listing) Window(ctx context.Context, q index.Query) (operations.Window, error) {
	w, err := l.x.Window(ctx, q, l.now())
	return operations.WindowOf(w), err
}

func (l listing) Count(ctx context.Context, f filter.OperationExpr) (int64, error) {
	return l.x.Count(ctx, f, l.now())
}

func (l listing) Place(ctx context.Context, f filter.OperationExpr, s index.Sort, opid string) (index.Place, error) {
	return l.x.Place(ctx, f, s, opid, l.now())
}

func (l listing) Totals(ctx context.Context, f filter.OperationExpr, by []index.By, limit int) (index.Group, error) {
	return l.x.Totals(ctx, f, by, limit, l.now())
}

func (l listing) Timeline(ctx context.Context, f filter.OperationExpr) (index.Timeline, error) {
	return l.x.Timeline(ctx, f, l.now())
}

func (l listing) Values(ctx context.Context, field, typed string, limit int) ([]string, error) {
	return l.x.Values(ctx, field, typed, limit)
}

func (l listing) Unreported(ctx context.Context, f filter.OperationExpr) (index.Unreported, error) {
	return l.x.Unreported(ctx, f, l.now())
}

func (l listing) Missing(ctx context.Context, f filter.OperationExpr) (string, error) {
	return l.x.Missing(ctx, f, l.now())
}

func (l listing) Noted(ctx context.Context, f filter.OperationExpr) ([]note.Note, error) {
	return l.x.Noted(ctx, f)
}

func (l listing) Freshness(ctx context.Context) (index.Freshness, error) { return l.x.Freshness(ctx) }

// Consistent answers from a snapshot.
func (l listing) Consistent(ctx context.Context, fn func(operations.Index) error) error {
	return l.x.Consistent(ctx, func(x *index.Index) error { return fn(listing{x, l.now}) })
}

// listConfig is the configuration of the list of operations.
func (d *backend) listConfig(env *ui.Env) operations.Config {
	c := operations.Config{Off: !d.app.Config.Index.Enabled, Progress: d.feed.progress,
		Preview: operation.Preview(env, d.known()), Export: d.files.Export, Folder: workingFolder(),
		Columns: chosenColumns(d.app.Config.UI.Columns), Recall: d.Columns, Keep: d.KeepColumns, Own: d.OwnViews,
		KeepView: d.KeepView}
	for _, name := range slices.Sorted(maps.Keys(d.app.Config.Views)) {
		v := d.app.Config.Views[name]
		c.Views = append(c.Views,
			operations.View{Name: name, Filter: v.Filter, Sort: v.Sort, Columns: chosenColumns(v.Columns)})
	}
	for _, v := range index.StockViews() {
		if _, own := d.app.Config.Views[v.Name]; !own {
			c.Views = append(c.Views,
				operations.View{Name: v.Name, Filter: v.Filter, Sort: v.Sort, About: v.About, Stock: true})
		}
	}
	return c
}

// workingFolder is where a file name without a folder is written; "" if it is not known.
func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// chosenColumns parses columns of the config, which was checked when it was read.
func chosenColumns(list []string) []field.Choice {
	out, err := field.ParseColumns(list)
	if err != nil {
		return nil
	}
	return out
}

// deliveries are the webhooks for the screen of events.
type deliveries struct{ app *app.App }

// Next waits for events after seq, from any process on the store.
func (d deliveries) Next(ctx context.Context, seq int64) ([]receiver.Stored, error) {
	return receiver.Follow(d.app.Hooks().Inbox(), seq, time.Second, nil).Next(ctx)
}

// Codes returns the words of numeric codes.
func (d deliveries) Codes(ctx context.Context) (hook.Meanings, error) {
	return d.app.Hooks().Meanings(ctx)
}

// Trouble returns the unmerged and the rejected deliveries.
func (d deliveries) Trouble(ctx context.Context) (receiver.Trouble, error) {
	return d.app.Hooks().Trouble(ctx)
}

// Rejected returns the last rejected deliveries, newest first.
func (d deliveries) Rejected(ctx context.Context) ([]receiver.Rejection, error) {
	return d.app.Hooks().Inbox().Rejected(ctx, receiver.MaxRejected)
}

// Replay passes a stored event to the receiver again.
func (d deliveries) Replay(ctx context.Context, key string) error {
	if err := api.Need(ctx, "replay event", api.MayHooks); err != nil {
		return err
	}
	_, err := d.app.Hooks().Replay(ctx, os.Getenv, key)
	return err
}

// sharedSession is the session for its screen, with the doctor.
type sharedSession struct {
	app.SharedSession
	app     *app.App
	console string // this one; "" if it has no presence
}

// session is the session for a screen of this console.
func (d *backend) session() sharedSession {
	s := sharedSession{SharedSession: d.app.SharedSession(), app: d.app}
	if d.feed != nil {
		s.console = d.feed.people.board.Console()
	}
	return s
}

// Connected lists the other open consoles.
func (s sharedSession) Connected(ctx context.Context) ([]presence.Place, error) {
	all, err := s.SharedSession.Connected(ctx)
	return slices.DeleteFunc(all, func(p presence.Place) bool { return p.Console == s.console }), err
}

// lasting is how long a process has to run to count as a change: commands do not.
const lasting = time.Minute

// around is what the person on call sees beside the verdict: who else is here, and what was started or changed.
func (d *backend) around(ctx context.Context) (oncall.Around, error) {
	shared := d.session()
	others, err := shared.Connected(ctx)
	if err != nil {
		return oncall.Around{}, err
	}
	st, err := shared.Status(ctx)
	if err != nil {
		return oncall.Around{}, err
	}
	people := map[string]bool{}
	for _, p := range others {
		people[p.Person] = true
	}
	out := oncall.Around{Others: len(people)}
	for _, i := range st.Seen {
		if i.SeenAt.Sub(i.Started) < lasting {
			continue
		}
		out.Changes = append(out.Changes, present.Change{At: i.Started,
			What: fmt.Sprintf("opdeck %s started on %s", i.Owner.Version, i.Owner.Host)})
	}
	if file, err := os.Stat(d.app.Config.Path); err == nil {
		out.Changes = append(out.Changes, present.Change{At: file.ModTime().Add(st.Ahead),
			What: d.app.Config.Path + " changed"})
	}
	return out, nil
}

// Doctor checks every step between this program and its service.
func (s sharedSession) Doctor(ctx context.Context) []sessions.Finding {
	if err := api.Need(ctx, "doctor", api.MaySession); err != nil {
		e := api.AsError(err)
		return []sessions.Finding{{Tone: theme.Bad, Name: "doctor", Text: e.Public + " " + remedy.Screen(e)}}
	}
	tones := map[app.Health]theme.Tone{app.Healthy: theme.Good, app.Warned: theme.Warn, app.Failed: theme.Bad,
		app.Skipped: theme.Dim}
	words := map[app.Health]string{app.Healthy: "ok", app.Warned: "look", app.Failed: "failed", app.Skipped: "skipped"}
	var out []sessions.Finding
	app.Doctor(ctx, app.Options{Version: s.app.Version, Now: s.app.Now}, s.app, false, func(f app.Finding) {
		text := words[f.Health] + ": " + f.Text
		if f.Hint != "" {
			text = strings.TrimRight(text, ".") + ". " + f.Hint
		}
		out = append(out, sessions.Finding{Tone: tones[f.Health], Name: f.Name, Text: untrusted.Text(text).Line(400)})
	})
	return out
}

// backend is the data source of the screens: the parts of the App under the names that the screens declare.
type backend struct {
	app     *app.App
	feed    *feed
	shared  *Shared // nil: the only console of its process
	files   hostFiles
	choices choices
}

// screen returns the screen of a place.
func (d *backend) screen(env *ui.Env, p ui.Place) ui.Screen {
	switch p.Kind {
	case ui.KindOperations:
		return operations.New(env, d.shared.rowsFor(listing{d.app.Index, d.app.Now}), d.app.Client, d.listConfig(env), p.Arg)
	case ui.KindOperation:
		return operation.NewScreen(env, d.app.Client, d.known(), d.app.Index.History, d.app.Notes, p.ID)
	case ui.KindDocuments:
		return documents.NewScreen(env, d.app.Client, documents.Parts{Known: d.known(), Save: d.files.SaveDocument,
			Read: d.files.ReadUpload, Jobs: d.app.Jobs, Unfinished: d.app.UnfinishedJobs, Types: d.app.Index.DocumentTypes,
			Open: d.app.Follow.Of, Removed: d.app.Follow.Removed}, p.ID)
	case ui.KindCompliance:
		if p.ID == "" {
			return compliance.NewCustomers(env, d.app.Client, d.app.Journeys.Store.UnfinishedJourneys, p.Arg)
		}
		return compliance.New(env, compliance.Parts{Journeys: d.app.Journeys, Notes: d.app.Notes,
			Names: (&finder{backend: d}).otherNames}, p.ID)
	case ui.KindLimits:
		return limits.NewScreen(env, d.app.Limits.Usage, d.app.Config.Limits.Policy)
	case ui.KindSession:
		return sessions.New(env, d.session())
	case ui.KindEvents:
		return events.New(env, d.app.Hooks().Inbox(), deliveries{d.app}, d.app.Client,
			events.Config{Listen: d.app.Hooks().At(), Verify: d.app.Config.Webhooks.Verify}, p.Arg)
	case ui.KindOnCall:
		return oncall.New(env, d.around)
	case ui.KindAudit:
		return audittrail.New(env, d.app.Trail(), p.Arg)
	case records.KindAccounts:
		return records.NewAccounts(env, d.app.Client, p.ID, p.Arg)
	case records.KindCounterparties:
		return records.NewCounterparties(env, d.app.Client, p.ID, p.Arg)
	case records.KindLimits:
		return records.NewLimits(env, d.app.Client, p.Arg)
	case records.KindCommissions:
		return records.NewCommissions(env, d.app.Client, p.Arg)
	case records.KindFiles:
		return records.NewFiles(env, d.app.Client, d.files.SaveDocument, (&finder{backend: d}).owner, p.ID, p.Arg)
	case approvals.Kind:
		return approvals.New(env, d.app.Approvals, p.ID)
	case history.Kind:
		return history.New(env, d.app.Index, history.Past{Webhooks: d.app.Hooks().Of, Writes: d.app.Trail().DocumentWrites,
			Notes: d.app.Notes.OnOperation}, p.ID)
	}
	return nil
}

// commands are palette entries that no screen has.
func (d *backend) commands() []ui.Command {
	out := []ui.Command{{Title: "approvals", About: "writes waiting for a second person",
		Words: []string{"approval list", "approval show"}, Do: ui.Open{Place: ui.Place{Kind: approvals.Kind}}}}
	if begun := d.feed.people.begun.Load(); begun != nil {
		out = append(out, *begun...)
	}
	return out
}

// known is the index's knowledge of operations.
func (d *backend) known() ui.Known {
	return ui.Known{Get: d.app.Known, MaxAge: d.app.Config.Index.MaxAge.D(), Phase: d.app.Client.Phase}
}
