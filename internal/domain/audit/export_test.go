package audit

import ()

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
