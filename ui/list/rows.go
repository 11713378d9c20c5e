package list

import (
	"slices"
	"time"

	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/widget"
)

// Rows holds the records of a screen in their order on screen. It
// implements widget.Source.
type Rows[T any] struct {
	Partial bool // some records were not read

	id    func(T) string
	draw  func(T) widget.Row
	all   []T
	shown []T              // the records that match the filter
	at    map[string]int   // by id, in shown
	match func(T) bool     // nil: all
	order func(a, b T) int // nil: in the order of Set
}

// NewRows returns rows without records; draw makes the row of a record.
func NewRows[T any](id func(T) string, draw func(T) widget.Row) *Rows[T] {
	return &Rows[T]{id: id, draw: draw}
}

// Set replaces the records.
func (r *Rows[T]) Set(all []T) {
	r.all = all
	r.index()
}

// Narrow shows only the records that match; nil shows all.
func (r *Rows[T]) Narrow(match func(T) bool) {
	r.match = match
	r.index()
}

// Sort sorts the shown records; nil: the order of Set.
func (r *Rows[T]) Sort(order func(a, b T) int) {
	r.order = order
	r.index()
}

func (r *Rows[T]) index() {
	r.shown = r.all
	if r.match != nil {
		r.shown = nil
		for _, record := range r.all {
			if r.match(record) {
				r.shown = append(r.shown, record)
			}
		}
	}
	if r.order != nil {
		r.shown = slices.Clone(r.shown)
		slices.SortStableFunc(r.shown, r.order)
	}
	r.at = make(map[string]int, len(r.shown))
	for i, record := range r.shown {
		r.at[r.id(record)] = i
	}
}

// All lists the records, the filtered ones included.
func (r *Rows[T]) All() []T { return r.all }

// Each yields the records, the filtered ones included.
func (r *Rows[T]) Each(yield func(T) bool) { slices.Values(r.all)(yield) }

// Shown lists the records that match the filter.
func (r *Rows[T]) Shown() []T { return r.shown }

// Find finds a record by id, among all records.
func (r *Rows[T]) Find(id string) (T, bool) {
	if i, ok := r.at[id]; ok {
		return r.shown[i], true
	}
	if i := slices.IndexFunc(r.all, func(record T) bool { return r.id(record) == id }); i >= 0 && id != "" {
		return r.all[i], true
	}
	var none T
	return none, false
}

// Keeps implements widget.Keeper.
func (r *Rows[T]) Keeps(id string) bool {
	_, ok := r.Find(id)
	return ok || r.Partial
}

// Len implements widget.Source.
func (r *Rows[T]) Len() int { return len(r.shown) }

// IndexOf implements widget.Source.
func (r *Rows[T]) IndexOf(id string) int {
	if i, ok := r.at[id]; ok {
		return i
	}
	return -1
}

// Row implements widget.Source.
func (r *Rows[T]) Row(i int) widget.Row { return r.draw(r.shown[i]) }

// Ages returns the time when the age of one of the first to last shown records changes next.
func (r *Rows[T]) Ages(from, to int, now time.Time, at func(T) time.Time) time.Time {
	var next time.Time
	for _, record := range r.shown[from:to] {
		_, t := format.Ago(at(record), now)
		next = ui.Sooner(next, t)
	}
	return next
}
