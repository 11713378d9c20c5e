package list

import (
	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

// Pages are the records of a list that the service gives page by page, as far as they
// were read. Its methods change nothing: With returns what is then.
type Pages[T any] struct {
	ID  func(T) string
	All []T // in the order of the service, each once
	Odd int // records without an identifier, which are not in All

	next  int    // the page that was not read yet
	total string // as told; "" when it was not
	whole bool   // the last page proves that All is all
	ended bool   // or it held nothing new
}

// With adds page n, from 0; the first one begins anew.
func (p Pages[T]) With(n int, got api.Page[T]) Pages[T] {
	out := Pages[T]{ID: p.ID, next: n + 1, total: string(got.Total)}
	if n > 0 {
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
	out.whole, out.ended = got.Whole(len(out.All)), len(out.All) == before
	return out
}

// Next is the page that was not read yet.
func (p Pages[T]) Next() int { return p.next }

// Whole reports whether these are all there are, as api.Page.Whole tells.
func (p Pages[T]) Whole() bool { return p.whole }

// Ended reports whether there is nothing left to read: these are all there are, or the
// last page held nothing new.
func (p Pages[T]) Ended() bool { return p.whole || p.ended }

// Of says how many there are beside those that were read: " of 45"; "" when that was not told.
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
		return format.Count(n) + p.Of() + " " + many + " read; the service lists no more"
	default:
		return format.Count(n) + p.Of() + " " + many + " read"
	}
}
