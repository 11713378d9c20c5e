package opindex

import (
	"encoding/binary"
	"maps"
	"slices"
)

// shares divide a kept sum of a day or a customer by kind, so that a sum over any kinds needs no row.
//
// They are stored packed: for each kind in order, as varints, how much its number exceeds the last one, then count
// and sums. They are known if they add up to the kept sum; those of earlier builds are empty.
type shares map[int64]sums

func (s shares) add(kind int64, v sums, sign int64) {
	have := s[kind]
	have.add(v, sign)
	s[kind] = have
}

// none reports whether no share differs from zero.
func (s shares) none() bool {
	for _, v := range s {
		if v != (sums{}) {
			return false
		}
	}
	return true
}

// onto adds s to the packed shares of a kept sum. Unknown ones become empty: they stay unknown while the sum has rows.
func (s shares) onto(packed []byte, whole sums) []byte {
	more := slices.Sorted(maps.Keys(s))
	out := packer{buf: make([]byte, 0, len(packed)+16*len(more))}
	known := eachShare(packed, whole, func(kind int64, v sums) {
		for ; len(more) > 0 && more[0] < kind; more = more[1:] {
			out.put(more[0], s[more[0]])
		}
		if len(more) > 0 && more[0] == kind {
			v.add(s[kind], 1)
			more = more[1:]
		}
		out.put(kind, v)
	})
	if !known {
		return []byte{}
	}
	for _, kind := range more {
		out.put(kind, s[kind])
	}
	return out.buf
}

// packer packs shares in the order of kinds.
type packer struct {
	buf  []byte
	last int64
}

func (p *packer) put(kind int64, v sums) {
	if v == (sums{}) {
		return
	}
	p.buf = binary.AppendUvarint(p.buf, uint64(kind-p.last))
	for _, part := range [...]int64{v.ops, v.hi, v.lo, v.nanos} {
		p.buf = binary.AppendVarint(p.buf, part)
	}
	p.last = kind
}

// eachShare calls fn for each packed share, in the order of kinds, and reports whether they add up to whole.
func eachShare(packed []byte, whole sums, fn func(kind int64, v sums)) (known bool) {
	kind := int64(0)
	for len(packed) > 0 {
		more, n := binary.Uvarint(packed)
		if n <= 0 {
			return false
		}
		packed, kind = packed[n:], kind+int64(more)
		var v [4]int64
		for i := range v {
			if v[i], n = binary.Varint(packed); n <= 0 {
				return false
			}
			packed = packed[n:]
		}
		share := sums{v[0], v[1], v[2], v[3]}
		whole.add(share, -1)
		fn(kind, share)
	}
	return whole == sums{}
}
