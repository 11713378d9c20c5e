package audit

import (
	"context"
	"fmt"

	"opdeck/api"
)

// SetIDs replaces the source of UUIDs, for test vectors.
func (l *Log) SetIDs(next func() string) { l.newID, l.boot = next, next() }

// Bounded and Prose are the ways of a text into a record.
var (
	Bounded = bounded
	Prose   = prose
)

// Sign is a line of a checkpoint file that k signed.
func (k *Key) Sign(c Checkpoint) []byte {
	s, err := k.sign(c)
	if err != nil {
		panic(err)
	}
	return append(s.Line, '\n')
}

// Fill writes n whole acts in one transaction.
func (l *Log) Fill(ctx context.Context, who api.Actor, act api.Act, n int) error {
	return l.opt.Store.Append(ctx, func(h Head) (rows []Row, err error) {
		for i := range n / 2 {
			in := l.record(who, string(act.Kind), PhaseIntent)
			act.ID, act.Item = fmt.Sprintf("op-%d", i), fmt.Sprintf("doc-%d", i)
			in.act(act)
			out := in
			l.stamp(&out)
			out.Ref = in.UID
			out.outcome(api.Outcome{Verdict: api.Done})
			for _, r := range []*Record{&in, &out} {
				var more []Row
				if more, h, err = l.makeRows(h, r); err != nil {
					return nil, err
				}
				rows = append(rows, more...)
			}
		}
		return rows, nil
	})
}
