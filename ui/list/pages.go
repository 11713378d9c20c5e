package list

import (
	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

// Pages are the records of a list that the service returns in pages, as far as they
// were read. It is immutable: With returns a new value.
type Pages[T any] struct {
	ID  func(T) string
	All []T // in the order of the service, without duplicates
	Odd int // records without an identifier, which are not in All

	next  api.PageAt // the next page to read
	more  bool       // there may be one
	total string     // as the service sent it; "": it sent none
	whole bool       // the last page proves that All is complete
}

// With returns the records with the page at; the first page replaces all earlier ones.
func (p Pages[T]) With(at api.PageAt, got api.Page[T]) Pages[T] {
	out := Pages[T]{ID: p.ID, total: string(got.Total)}
	if at.Page > 0 {
		out.All, out.Odd = append(out.All, p.All...), p.Odd
	}
	out.Odd += got.Unusable
	known := map[string]bool{"": true}
	for _, r := range out.All {
		known[p.ID(r)] = true
	}
	before := len(out.All)
	for _, r := range got.Items {
		if id := p.ID(r); !known[id] { // pages shift when records come
			known[id] = true
			out.All = append(out.All, r)
		}
	}
	out.whole = got.Whole(len(out.All))
	out.next, out.more = got.Then(at, len(out.All) > before)
	return out
}

// Next returns the next page to read.
func (p Pages[T]) Next() api.PageAt { return p.next }

// Whole reports whether these are all records, by api.Page.Whole.
func (p Pages[T]) Whole() bool { return p.whole }

// Ended reports whether there is nothing left to read: these are all records, or the
// last page had no new one.
func (p Pages[T]) Ended() bool { return p.whole || p.next.Page > 0 && !p.more }

// Of returns the service's total as text, " of 45"; "" if the service sent none.
func (p Pages[T]) Of() string {
	if p.total == "" {
		return ""
	}
	return " of " + untrusted.Text(p.total).Line(20)
}

// Read says how many of the records called many were read.
func (p Pages[T]) Read(many string) string {
	switch n := len(p.All); {
	case p.Whole() && n == 0:
		return "No " + many
	case p.Whole():
		return "All " + many + " read: " + format.Count(n)
	case p.Ended():
		return format.Count(n) + p.Of() + " " + many + " read; the service lists no others"
	default:
		return format.Count(n) + p.Of() + " " + many + " read"
	}
}
