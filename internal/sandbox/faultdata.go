package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// loadPresent loads the call's current operation if a reply needs it.
func loadPresent(c *call) error {
	wanted := false
	for _, f := range c.faults {
		for _, name := range operationBodies {
			wanted = wanted || f.reply.body == name
		}
	}
	if !wanted || len(c.params) == 0 {
		return nil
	}
	body, err := getOperation(c)
	var unknown *refusal
	switch {
	case errors.As(err, &unknown):
		return nil
	case err != nil:
		return err
	}
	c.present = encode(body)
	return nil
}

// changeData runs the faults that change data when calls arrive.
func changeData(c *call, f fault, a answer) error {
	switch f.kind {
	case "vanish":
		var page struct{ Items []struct{ Opid string } }
		if json.Unmarshal(a.body, &page) != nil {
			return nil
		}
		var gone []string
		for _, item := range page.Items[:min(f.number, len(page.Items))] {
			gone = append(gone, item.Opid)
		}
		return c.Remove(c.ctx, gone...)
	case "silent", "touch":
		return c.drift(c.ctx, f.number, f.kind == "silent")
	}
	return nil
}

// drift changes the status of count random operations without a status of their own in the patch; silently means
// without a webhook and with the old updatedAt.
func (s *store) drift(ctx context.Context, count int, silently bool) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		ops, err := queryOperations(ctx, tx, `WHERE o.n IN (SELECT n FROM operation
			WHERE COALESCE(extra, '') NOT LIKE '%"status"%' ORDER BY random() LIMIT ?)`, count)
		for i := range ops {
			if err == nil {
				err = moveOperation(c, tx, &ops[i], nextStatus(ops[i]), move{quiet: silently, still: silently})
			}
		}
		return err
	})
}
