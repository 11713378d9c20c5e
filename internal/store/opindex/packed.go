package opindex

import (
	_ "embed" // the dictionary
	"errors"
	"sync"

	"github.com/klauspost/compress/s2"
)

// A record is stored as it came, or packed: the number of its dictionary, then an S2 block. JSON begins with another
// byte, and an empty body is no record.
//
// dictionaryText has what most records share: the service's members in their usual order, and its codes. Stored
// records need it to be read, so it never changes: another dictionary is another file with another number.
//
//go:embed record.dict
var dictionaryText string

const dictionaryNumber = 1

// dictionary is made at first use. Its text is preceded by the position at which the search for a repetition begins.
var dictionary = sync.OnceValue(func() *s2.Dict { return s2.NewDict(append([]byte{0}, dictionaryText...)) })

// maxRecord bounds what a stored record may unpack to, in bytes; no answer of the service is read that is larger.
const maxRecord = 64 << 20

var errPacked = errors.New("it cannot be unpacked")

// pack returns a record in the shorter form.
func pack(record []byte) []byte {
	if len(record) == 0 || len(record) > maxRecord {
		return record
	}
	out := make([]byte, 1+s2.MaxEncodedLen(len(record)))
	out[0] = dictionaryNumber
	block := dictionary().Encode(out[1:], record)
	if len(block)+1 >= len(record) {
		return record
	}
	return out[:1+len(block)]
}

// unpack returns the record of a stored body, which it may share.
func unpack(body []byte) ([]byte, error) {
	if len(body) == 0 || body[0] >= ' ' || body[0] == '\n' || body[0] == '\r' || body[0] == '\t' {
		return body, nil
	}
	if body[0] != dictionaryNumber {
		return nil, errPacked
	}
	n, err := s2.DecodedLen(body[1:])
	if err != nil || n > maxRecord {
		return nil, errPacked
	}
	record, err := dictionary().Decode(make([]byte, n), body[1:])
	if err != nil {
		return nil, errPacked
	}
	return record, nil
}
