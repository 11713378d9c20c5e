package opindex

import (
	"cmp"
	"time"

	"opdeck/internal/domain/index"
)

// trust is how many reads may step backwards before the older state is accepted.
const trust = 5

// decide chooses the current state: the newest by updatedAt. If that is ambiguous (a tie with other content, a step
// backwards, an answer that overtook a later one), a single read becomes due.
func (b *batch) decide(r *opRow) {
	now := *r // the state before r: the batch's own row, or the stored one
	prev, has := b.write[r.opid]
	if has {
		now = *prev
	} else if k := b.known[r.opid]; k != nil {
		now = opRow{updated: k.updated, updatedNs: k.updatedNs, digest: k.digest, doubt: k.doubt, origin: k.origin,
			seen: k.seen, changed: k.changed}
		has = true
	}
	if r.owed {
		r.doubt, r.doubtAt = 1, r.changed
	}
	if !has {
		b.arrive(r)
		return
	}
	order := cmp.Or(cmp.Compare(r.updated, now.updated), cmp.Compare(r.updatedNs, now.updatedNs))
	if r.origin == index.Hook {
		r.seen = now.seen // what it does not report keeps its age
	}
	switch {
	case r.digest == now.digest && order == 0:
		b.merged.Same++
		switch {
		case prev == nil && r.seen >= now.seen:
			b.confirm = append(b.confirm, r)
		case prev != nil:
			prev.seen = max(prev.seen, r.seen)
		}
	case order > 0, order == 0 && r.origin == index.Read && r.seen >= now.seen,
		order == 0 && now.origin == index.Hook && r.origin != index.Hook:
		b.replace(r)
	case order == 0 && r.origin == index.List && r.seen >= now.seen:
		r.doubt, r.doubtAt = max(r.doubt, 1), r.seen
		b.replace(r)
	case order < 0 && r.origin == index.Read && now.doubt > trust && r.seen >= now.seen:
		b.replace(r)
	default:
		b.older(r, prev, now.doubt)
	}
}

func (b *batch) replace(r *opRow) {
	if _, mine := b.write[r.opid]; !mine {
		b.merged.Changed++
		b.touch(r.opid)
	}
	b.write[r.opid] = r
	delete(b.doubt, r.opid)
}

// older keeps the current state and makes a read due: at once, or later each time that a read stepped backwards.
func (b *batch) older(r, prev *opRow, doubt int64) {
	b.merged.Older++
	at := r.changed
	doubt = max(doubt, 1)
	if r.origin == index.Read {
		at += int64(10*time.Second/time.Microsecond) << min(doubt, 8)
		doubt++
	}
	if prev != nil {
		prev.doubt, prev.doubtAt = doubt, at
		return
	}
	r.doubt, r.doubtAt = doubt, at
	b.doubt[r.opid] = r
}

func (b *batch) touch(opid string) {
	if len(b.merged.Touched) < 1000 {
		b.merged.Touched = append(b.merged.Touched, opid)
	}
}
