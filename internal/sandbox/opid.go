package sandbox

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// opidOf is the id of operation n: 64 of its bits are n scrambled, the rest
// follows from n. So ids need neither a column nor an index, which would be the
// largest index of a file with a million operations.
func opidOf(seed uint64, n int64) uuid.UUID {
	d := newDice(seed, saltOperation, int(n)+1<<41)
	id := d.uuid()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], scramble(seed, uint64(n)))
	copy(id[:6], b[:6]) // version and variant are in bytes 6 and 8
	copy(id[14:], b[6:])
	return id
}

// numberOf finds the number of an id; false: no operation can have it.
func numberOf(seed uint64, id uuid.UUID) (int64, bool) {
	var b [8]byte
	copy(b[:6], id[:6])
	copy(b[6:], id[14:])
	n := unscramble(seed, binary.BigEndian.Uint64(b[:]))
	return int64(n), n < 1<<40 && opidOf(seed, int64(n)) == id
}

const rounds = 4

// scramble is a Feistel network: a bijection of 64 bits that looks random.
func scramble(seed, v uint64) uint64 {
	l, r := uint32(v>>32), uint32(v)
	for i := range rounds {
		l, r = r, l^mix(seed, i, r)
	}
	return uint64(l)<<32 | uint64(r)
}

// unscramble is the inverse of scramble.
func unscramble(seed, v uint64) uint64 {
	l, r := uint32(v>>32), uint32(v)
	for i := rounds - 1; i >= 0; i-- {
		l, r = r^mix(seed, i, l), l
	}
	return uint64(l)<<32 | uint64(r)
}

func mix(seed uint64, round int, half uint32) uint32 {
	d := newDice(seed, saltOpid, int(half)<<8|round)
	return uint32(d.next())
}
