package index

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"opdeck/api"
)

// Order is how the service's list is sorted, as its pages show. Nothing states it.
type Order string

// The orders. With none of them news have no place in the list, and only the
// rolling pass finds them.
const (
	OrderUnknown     Order = ""               // the pages do not show it yet
	OrderNone        Order = "none"           // they contradict every order
	NewestFirst      Order = "newest"         // by createdAt
	OldestFirst      Order = "oldest"         //
	NewestChangeWise Order = "newest-changed" // by updatedAt
	OldestChangeWise Order = "oldest-changed" //
)

// orders are the hypotheses, the preferred first; their places are bits of
// Evidence.
var orders = [...]Order{NewestFirst, OldestFirst, NewestChangeWise, OldestChangeWise}

// Sorted reports whether news are at one end of the list.
func (o Order) Sorted() bool { return o != OrderUnknown && o != OrderNone }

// backwards reports whether the list grows at its last page.
func (o Order) backwards() bool { return o == OldestFirst || o == OldestChangeWise }

// key is what the list is sorted by, in µs since 1970; ok is false where the
// record does not tell.
func (o Order) key(op api.Operation) (us int64, ok bool) {
	t := op.CreatedAt.Time
	if o == NewestChangeWise || o == OldestChangeWise {
		t = op.UpdatedAt.Time
	}
	return t.UnixMicro(), !t.IsZero()
}

// top is the newest key of rows that does not lie ahead of now: a record that is
// dated ahead must not hide what comes below it. Where all do, the oldest.
func (o Order) top(rows []api.Operation, now time.Time) int64 {
	best, least, limit := int64(0), int64(0), now.UnixMicro()
	for _, op := range rows {
		k, ok := o.key(op)
		if !ok {
			continue
		}
		if k <= limit && (best == 0 || k > best) {
			best = k
		}
		if least == 0 || k < least {
			least = k
		}
	}
	if best == 0 {
		return least
	}
	return best
}

// Evidence is what pages have shown of the order since a pass began.
type Evidence struct {
	Against int      `json:"against,omitempty"` // bits of orders that a page contradicts
	For     int      `json:"for,omitempty"`     // bits of orders that a page shows
	Low     [2]int64 `json:"low"`               // smallest createdAt and updatedAt of the last page
	High    [2]int64 `json:"high"`              // largest
}

// odd is the share of neighbours that may stand the wrong way round: clocks of
// several machines stamp the records.
const odd = 20

// observe adds a page; follows says that it continues the page before, with nothing
// removed between them.
func (e *Evidence) observe(rows []api.Operation, follows bool) {
	for i, by := range [2]Order{NewestFirst, NewestChangeWise} {
		up, down := 0, 0
		var low, high, last int64
		for _, op := range rows {
			k, ok := by.key(op)
			if !ok {
				continue
			}
			switch {
			case last != 0 && k > last:
				up++
			case last != 0 && k < last:
				down++
			}
			last = k
			if low == 0 || k < low {
				low = k
			}
			if high == 0 || k > high {
				high = k
			}
		}
		allowed := (up + down) / odd
		e.note(2*i, down > up, up > allowed)
		e.note(2*i+1, up > down, down > allowed)
		if follows && low != 0 && e.Low[i] != 0 {
			e.note(2*i, high < e.Low[i], low > e.High[i])
			e.note(2*i+1, low > e.High[i], high < e.Low[i])
		}
		e.Low[i], e.High[i] = low, high
	}
}

func (e *Evidence) note(bit int, shown, contradicted bool) {
	if shown {
		e.For |= 1 << bit
	}
	if contradicted {
		e.Against |= 1 << bit
	}
}

// decide says which order holds; have is the one that held so far, and stays until
// a page contradicts it.
func (e Evidence) decide(have Order) Order {
	best, open := OrderUnknown, false
	for i, o := range orders {
		switch {
		case e.Against&(1<<i) != 0:
		case o == have:
			return have
		case e.For&(1<<i) != 0 && best == OrderUnknown:
			best = o
			fallthrough
		default:
			open = true
		}
	}
	if !open {
		return OrderNone
	}
	return best
}

// digest tells two pages apart by their identifiers.
func digest(rows []api.Operation) string {
	h := sha256.New()
	for _, op := range rows {
		h.Write([]byte(op.OPID))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
