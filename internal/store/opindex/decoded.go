package opindex

import (
	"bytes"
	"sync"

	"opdeck/api"
)

// keptRows bounds the rows of a generation of decodedRows; a list holds up to 900.
const keptRows = 900

// decodedRows keeps the operations of lists as they were decoded last, so that a list that is read again decodes only
// what has changed, and lists of the same rows share their memory. Nobody changes what an operation points to: a masked
// one is a copy.
type decodedRows struct {
	mu    sync.Mutex
	young map[int64]*decodedRow // guarded by mu; by number
	old   map[int64]*decodedRow // guarded by mu; the young ones before, until the next change of generations
}

type decodedRow struct {
	body []byte // as stored
	op   api.Operation
}

// operation decodes the stored body of a row.
func (d *decodedRows) operation(n int64, body []byte) (api.Operation, error) {
	row := d.find(n)
	if row == nil || !bytes.Equal(row.body, body) {
		op, err := decodeOp(body)
		if err != nil {
			return op, err
		}
		row = &decodedRow{body, op}
	}
	d.keep(n, row)
	return row.op, nil
}

func (d *decodedRows) find(n int64) *decodedRow {
	d.mu.Lock()
	defer d.mu.Unlock()
	if row := d.young[n]; row != nil {
		return row
	}
	return d.old[n]
}

func (d *decodedRows) keep(n int64, row *decodedRow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.young == nil || len(d.young) >= keptRows {
		d.young, d.old = map[int64]*decodedRow{}, d.young
	}
	d.young[n] = row
}
