package index

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"opdeck/api"
)

// Order is the sort order of the service's list, inferred from its pages; it is not documented.
type Order string

// The orders. Without one, new rows may be anywhere in the list, and only the rolling pass finds them.
const (
	OrderUnknown     Order = ""               // not known yet
	OrderNone        Order = "none"           // they contradict every order
	NewestFirst      Order = "newest"         // by createdAt
	OldestFirst      Order = "oldest"         //
	NewestChangeWise Order = "newest-changed" // by updatedAt
	OldestChangeWise Order = "oldest-changed" //
)

// orders are the hypotheses, preferred ones first; their indexes are the bits of Signs.
var orders = [...]Order{NewestFirst, OldestFirst, NewestChangeWise, OldestChangeWise}

// Sorted reports whether new rows are at one end of the list.
func (o Order) Sorted() bool { return o != OrderUnknown && o != OrderNone }

// backwards reports whether the list grows at its last page.
func (o Order) backwards() bool { return o == OldestFirst || o == OldestChangeWise }

// key is the sort key, in µs since 1970; ok is false if the record lacks it.
func (o Order) key(op api.Operation) (us int64, ok bool) {
	t := op.CreatedAt.Time
	if o == NewestChangeWise || o == OldestChangeWise {
		t = op.UpdatedAt.Time
	}
	return t.UnixMicro(), !t.IsZero()
}

// top is the newest key of rows that is not ahead of now: a record with a future time must not hide older ones. If
// all are ahead, it is the oldest.
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

// Signs are what the pages since the start of a pass show of the order.
type Signs struct {
	Against int      `json:"against,omitempty"` // bits of orders contradicted by a page
	For     int      `json:"for,omitempty"`     // bits of orders shown by a page
	Low     [2]int64 `json:"low"`               // smallest createdAt and updatedAt of the last page
	High    [2]int64 `json:"high"`              // largest
}

// odd: one neighbour in odd may be out of order, because several machines' clocks stamp the records.
const odd = 20

// observe adds a page; follows: it directly continues the previous page, with nothing removed between them.
func (s *Signs) observe(rows []api.Operation, follows bool) {
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
		s.note(2*i, down > up, up > allowed)
		s.note(2*i+1, up > down, down > allowed)
		if follows && low != 0 && s.Low[i] != 0 {
			s.note(2*i, high < s.Low[i], low > s.High[i])
			s.note(2*i+1, low > s.High[i], high < s.Low[i])
		}
		s.Low[i], s.High[i] = low, high
	}
}

func (s *Signs) note(bit int, shown, contradicted bool) {
	if shown {
		s.For |= 1 << bit
	}
	if contradicted {
		s.Against |= 1 << bit
	}
}

// decide returns the order; the previous one, have, remains until a page contradicts it.
func (s Signs) decide(have Order) Order {
	best, open := OrderUnknown, false
	for i, o := range orders {
		switch {
		case s.Against&(1<<i) != 0:
		case o == have:
			return have
		case s.For&(1<<i) != 0 && best == OrderUnknown:
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

// digest identifies a page by its identifiers.
func digest(rows []api.Operation) string {
	h := sha256.New()
	for _, op := range rows {
		h.Write([]byte(op.OPID))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
