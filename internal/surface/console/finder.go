package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/views/records"
)

const (
	foundAtMost   = 10 // per kind
	lookedThrough = 200
	recentFolder  = "recent" // in the state folder: one file per person
	maxRecentFile = 64 << 10 // bytes
	keptRecent    = 10       // per person and account
	keptScopes    = 20       // accounts per person
)

// finder finds operations and customers in the index and remembers the objects that the person opened last. It
// implements ui.Finder.
type finder struct {
	backend *backend

	mu   sync.Mutex
	last []recentPlace // guarded by mu: opened objects, if nothing can be stored
}

// recentPlace is an opened object. Only its id is stored.
type recentPlace struct {
	Kind string `json:"kind"` // ui.KindOperation or ui.KindCompliance
	ID   string `json:"id"`
}

// recentFile is one person's file.
type recentFile struct {
	Scopes map[string][]recentPlace `json:"scopes"` // by a digest of the account
	Order  []string                 `json:"order"`  // of the accounts, most recent first
}

// Find implements ui.Finder.
func (f *finder) Find(ctx context.Context, q ui.Search) (out ui.Finding, err error) {
	l, err := f.backend.app.Index.Find(ctx, q.Text, q.Zone, foundAtMost, f.backend.app.Now())
	if wrong := (*filter.Error)(nil); errors.As(err, &wrong) {
		out.Wrong = strings.TrimSpace(wrong.What + " " + wrong.Hint)
	} else if err != nil {
		return out, err
	}
	out.Whole, out.Only, out.IDs, out.Known = l.Whole, l.Only(q.Text), l.IDs, l.Known
	out.Missing = l.Missing
	for _, r := range l.Beginning {
		out.Matches = append(out.Matches, foundOperation(r))
	}
	var notes []note.Note
	if e, err := filter.Parse(q.Text); err == nil {
		if notes, err = f.backend.app.Index.Noted(ctx, e); err != nil {
			return out, err
		}
	}
	if q.Customers {
		of, err := f.customers(ctx, q.Text)
		if err != nil {
			return out, err
		}
		out.Matches = append(out.Matches, of...)
	}
	for _, r := range l.Others {
		one := foundOperation(r)
		if n, ok := note.Of(r.Op, notes); ok {
			one.Cells[foundNote].Text = "note: " + n.Text.Line(60)
		}
		out.Matches = append(out.Matches, one)
	}
	return out, nil
}

// foundNote is the cell of a found operation that has the note that matches.
const foundNote = 2

// foundOperation describes an operation by what tells it from others first: a narrow window leaves out the end.
func foundOperation(r index.Record) ui.Found {
	o := r.Op
	return ui.Found{Place: ui.Place{Kind: ui.KindOperation, ID: string(o.OPID)}, Text: draw.ID(string(o.OPID), 13),
		Cells: []ui.Cell{{Text: format.Money(o.SourceAmount.Sum), Number: true}, {Text: o.Status.Line(14)}, {},
			{Text: o.Customer.Name.Line(40)}, {Day: o.CreatedAt.Time}, {Text: o.Type.Line(14)},
			{Text: o.Reference.Line(40)}}}
}

// customers returns those of the newest operations whose customer's name contains what was typed, or whose id it is.
func (f *finder) customers(ctx context.Context, typed string) ([]ui.Found, error) {
	rows, err := f.ofCustomer(ctx, typed)
	if err != nil {
		return nil, err
	}
	var out []ui.Found
	for _, r := range rows {
		to := ui.Place{Kind: ui.KindCompliance, ID: string(r.Op.Customer.CUID)}
		same := func(o ui.Found) bool { return o.Place == to }
		if to.ID != "" && len(out) < foundAtMost && !slices.ContainsFunc(out, same) {
			out = append(out,
				ui.Found{Place: to, Text: r.Op.Customer.Name.Line(40), About: "customer " + r.Op.Customer.CUID.Line(64)})
		}
	}
	return out, nil
}

// ofCustomer returns the newest operations of customers by name or id; none for fewer than two characters.
func (f *finder) ofCustomer(ctx context.Context, typed string) ([]index.Record, error) {
	if len([]rune(typed)) < 2 {
		return nil, nil
	}
	e, err := filter.Parse("customer:" + filter.Quoted(typed))
	if err != nil { // not a valid filter value
		return nil, nil
	}
	w, err := f.backend.app.Index.Window(ctx,
		index.Query{Filter: e, Sort: index.Sort{Field: "created", Desc: true}, Limit: lookedThrough}, f.backend.app.Now())
	return w.Rows, err
}

// customerName is what a customer is called by the newest operation in the index that names them.
func (f *finder) customerName(ctx context.Context, cuid string) string {
	rows, _ := f.ofCustomer(ctx, cuid) // without the index it is the id
	return present.CustomerName(cuid, nameIn(rows, cuid))
}

// nameIn is the name of a customer in the first of the operations that have one.
func nameIn(rows []index.Record, cuid string) untrusted.Text {
	for _, r := range rows {
		if string(r.Op.Customer.CUID) == cuid && r.Op.Customer.Name != "" {
			return r.Op.Customer.Name
		}
	}
	return ""
}

// owner is the customer's name by the index, and which of their operations have which documents.
func (f *finder) owner(ctx context.Context, cuid string) records.Owner {
	out := records.Owner{Uses: map[string]string{}}
	rows, _ := f.ofCustomer(ctx, cuid) // without the index the question says that it is not known
	out.Name = nameIn(rows, cuid).Line(60)
	for _, r := range rows {
		if string(r.Op.Customer.CUID) != cuid {
			continue
		}
		for _, d := range r.Op.Documents {
			out.Uses[string(d.GUID)] = string(r.Op.OPID)
		}
	}
	return out
}

// otherNames are the names of a customer in operations that differ from the record's.
func (f *finder) otherNames(ctx context.Context, c api.Customer, cuid string) []untrusted.Text {
	rows, err := f.ofCustomer(ctx, cuid)
	if err != nil { // a courtesy: the record is shown anyway
		return nil
	}
	var out []untrusted.Text
	for _, r := range rows {
		if name := r.Op.Customer.Name; string(r.Op.Customer.CUID) == cuid && name != "" && name != c.DisplayName() &&
			!slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Recent implements ui.Finder.
func (f *finder) Recent(ctx context.Context) ([]ui.Found, error) {
	if f.backend.feed != nil {
		f.backend.feed.people.noteBegun(ctx)
	}
	list, err := f.recent(ctx)
	if err != nil {
		return nil, err
	}
	var out []ui.Found
	for _, r := range list {
		one := ui.Found{Place: ui.Place{Kind: r.Kind, ID: r.ID}, Text: draw.ID(r.ID, 13)}
		if r.Kind == ui.KindCompliance {
			one.Text, one.About = f.customerName(ctx, r.ID), "customer "+untrusted.Text(r.ID).Line(64)
		} else if rec, err := f.backend.app.Index.Get(ctx, r.ID); err == nil {
			one = foundOperation(rec)
		}
		out = append(out, one)
	}
	return out, nil
}

func (f *finder) recent(ctx context.Context) ([]recentPlace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.backend.personFile(ctx, recentFolder)
	if path == "" {
		return slices.Clone(f.last), nil
	}
	file, err := readRecent(path)
	return file.Scopes[f.scope()], err
}

// Opened implements ui.Finder. If nothing can be stored, it lasts as long as the console.
func (f *finder) Opened(ctx context.Context, p ui.Place) error {
	now := recentPlace{Kind: ui.KindOperation, ID: p.ID}
	if p.Kind == ui.KindCompliance {
		now.Kind = p.Kind
	}
	if err := api.CheckID("id", p.ID); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = moveToFront(f.last, now, keptRecent)
	path := f.backend.personFile(ctx, recentFolder)
	if path == "" {
		return nil
	}
	file, err := readRecent(path) // another console of the same person may have opened others
	if err != nil {
		return err
	}
	scope := f.scope()
	file.Scopes[scope] = moveToFront(file.Scopes[scope], now, keptRecent)
	file.Order = moveToFront(file.Order, scope, keptScopes)
	for other := range file.Scopes {
		if !slices.Contains(file.Order, other) {
			delete(file.Scopes, other)
		}
	}
	return writePersonFile(path, file)
}

// moveToFront returns list with v moved or added to the front, at most n values.
func moveToFront[T comparable](list []T, v T, n int) []T {
	out := append([]T{v}, slices.DeleteFunc(slices.Clone(list), func(o T) bool { return o == v })...)
	return out[:min(len(out), n)]
}

func readRecent(path string) (recentFile, error) {
	var file recentFile
	err := readPersonFile(path, maxRecentFile, &file)
	if errors.Is(err, errDamaged) { // the next visit writes it again
		file, err = recentFile{}, nil
	}
	if file.Scopes == nil {
		file.Scopes = map[string][]recentPlace{}
	}
	return file, err
}

// scope identifies the account of the objects.
func (f *finder) scope() string {
	sum := sha256.Sum256([]byte(f.backend.app.Scope()))
	return hex.EncodeToString(sum[:8])
}
