package sandbox

import (
	"crypto/rand"

	"github.com/google/uuid"
)

// Salts separate the random streams of different kinds of data.
const (
	saltSettings = iota + 1
	saltCustomer
	saltAccount
	saltCounterparty
	saltOperation
	saltAmount
	saltFile
	saltOpid
)

// dice is a small deterministic generator (SplitMix64): the same seed, salt and number always give the same values.
type dice struct{ state uint64 }

func newDice(seed, salt uint64, n int) dice {
	d := dice{seed*0x9E3779B97F4A7C15 ^ salt<<56 ^ uint64(n)}
	d.next()
	return d
}

func (d *dice) next() uint64 {
	d.state += 0x9E3779B97F4A7C15
	z := d.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below returns a number in [0, n).
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// chance is true in p of a hundred cases.
func (d *dice) chance(p int) bool { return d.below(100) < p }

func (d *dice) uuid() uuid.UUID {
	var u uuid.UUID
	for i := 0; i < 16; i += 8 {
		v := d.next()
		for j := range 8 {
			u[i+j] = byte(v >> (8 * j))
		}
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u
}

const alnum = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"

// word returns n characters of an identifier.
func (d *dice) word(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alnum[d.below(len(alnum))]
	}
	return string(b)
}

func (d *dice) digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + d.below(10))
	}
	return string(b)
}

func pick[T any](d *dice, from []T) T { return from[d.below(len(from))] }

// randomBytes are unpredictable, for keys and tokens, which must not come from the seed.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}
