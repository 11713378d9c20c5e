package audit

import (
	"fmt"
	"maps"
	"slices"
)

// cover is what a verification knows about the signers of the trail.
type cover struct {
	signed     map[string]map[int64]bool  // by key: the numbers of records of its checkpoints
	claimed    map[string]map[int64]int64 // by key: the checkpoints that records mention, and the first such record
	outcomes   []int64                    // seq of outcomes, which are signed as soon as they are stored
	storedOnly map[string]int64           // keys of other hosts: up to where they signed, by the store
}

func newCover() cover {
	return cover{signed: map[string]map[int64]bool{}, claimed: map[string]map[int64]int64{},
		storedOnly: map[string]int64{}}
}

// noteSignature records a checkpoint of a key.
func (v *verifier) noteSignature(s Signed, by string) {
	if v.signed[by] == nil {
		v.signed[by] = map[int64]bool{}
	}
	v.signed[by][s.N] = true
}

// noteSigner records what a record says about checkpoints.
func (v *verifier) noteSigner(r Record) {
	if r.Signer == "" {
		return
	}
	claims := v.claimed[r.Signer]
	if claims == nil {
		claims = map[int64]int64{}
		v.claimed[r.Signer] = claims
	}
	if _, ok := claims[r.Signed]; !ok && r.Signed > 0 {
		claims[r.Signed] = r.Seq
	}
	if r.Phase == PhaseOutcome {
		v.outcomes = append(v.outcomes, r.Seq)
	}
	if r.Event == EventUncovered && r.Phase == PhaseNote {
		v.r.Warnings = append(v.r.Warnings, fmt.Sprintf("record %d: %s", r.Seq, r.Detail))
	}
}

// reportUncovered reports checkpoints that are missing.
func (v *verifier) reportUncovered() {
	v.line = 0 // it concerns all of them
	for _, key := range slices.Sorted(maps.Keys(v.claimed)) {
		// a key that no record says to have signed with is that of another host that has just begun
		if v.known != nil && !v.known[key] && (v.guest || len(v.claimed[key]) == 0) {
			v.r.Unknown = append(v.r.Unknown, key)
			continue
		}
		v.reportMissing(key, v.claimed[key])
	}
	if v.guest && len(v.r.Unknown) > 0 {
		return // their checkpoints may cover all
	}
	open := slices.DeleteFunc(v.outcomes, func(seq int64) bool { return seq <= v.r.Covered })
	switch n := len(open); {
	case n == 1:
		v.problem(open[0], Unsigned, "record %d is an outcome that no checkpoint covers: its process ended before it "+
			"signed, or checkpoints were removed", open[0])
	case n > 1:
		v.problem(open[0], Unsigned, "%d outcomes, records %d to %d, are covered by no checkpoint: their processes ended "+
			"before they signed, or checkpoints were removed", n, open[0], open[n-1])
	}
}

// reportMissing reports missing checkpoints of one key that records mention.
func (v *verifier) reportMissing(key string, claims map[int64]int64) {
	var missing []int64
	for n := range claims {
		if !v.signed[key][n] && n >= v.r.First && n > v.storedOnly[key] && !v.lostBefore(n, claims[n]) {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return
	}
	slices.Sort(missing)
	newest := missing[len(missing)-1]
	switch {
	case len(v.signed[key]) == 0 && v.storedOnly[key] == 0:
		v.problem(claims[newest], Unsigned, "record %d says that key %s signed a checkpoint for %d records, but none of "+
			"its checkpoints was found: they or the key were lost, or not given; keys of other hosts go into [audit] keys",
			claims[newest],
			key, newest)
	case len(missing) == 1:
		v.problem(claims[newest], Unsigned, "record %d says that key %s signed a checkpoint for %d records, but it was not "+
			"found", claims[newest], key, newest)
	default:
		v.problem(claims[newest], Unsigned, "%d checkpoints of key %s that records mention were not found; the newest is "+
			"for %d records (record %d)",
			len(missing), key, newest, claims[newest])
	}
}
