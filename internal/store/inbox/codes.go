package inbox

import (
	"context"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/store"
)

// AddPairs implements hook.CodeStore. It stops counting a code and word at
// hook.MaxEvidence; another word for the code is always kept.
func (b *Inbox) AddPairs(ctx context.Context, pairs []hook.Pair) error {
	return b.write(ctx, func(tx *store.Tx, scope int64) error {
		for _, p := range pairs {
			if err := addPair(ctx, tx, scope, p); err != nil {
				return err
			}
		}
		return nil
	})
}

func addPair(ctx context.Context, tx *store.Tx, scope int64, p hook.Pair) error {
	key := []any{scope, string(p.Field), p.Code, string(p.Word)}
	var n int
	if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM hook_code WHERE scope = ? AND field = ? AND code = ? AND word = ?",
		key...).Scan(&n); err != nil {
		return err
	}
	if n >= hook.MaxEvidence {
		return nil
	}
	row := append(key, string(p.OPID), p.At.Seconds, int64(p.At.Nanos), store.Bit(p.Exact))
	return tx.Exec(ctx, "INSERT INTO hook_code (scope, field, code, word, opid, at_s, at_ns, exact) VALUES ("+
		store.Marks(8)+") ON CONFLICT (scope, field, code, word, opid, at_s, at_ns) DO UPDATE SET exact = excluded.exact "+
		"WHERE excluded.exact > hook_code.exact", row...)
}

// Evidence implements hook.CodeStore.
func (b *Inbox) Evidence(ctx context.Context) ([]hook.Evidence, error) {
	where, of := b.account.in("c")
	return store.List(ctx, b.db, func(scan store.Scan) (hook.Evidence, error) {
		var e hook.Evidence
		var word, sample string
		err := scan((*string)(&e.Field), &e.Code, &word, &e.Count, &e.Exact, &sample)
		e.Word, e.Sample = untrusted.Text(word), untrusted.Text(sample)
		return e, err
	}, "SELECT field, code, word, COUNT(*), CAST(SUM(exact) AS BIGINT), MIN(opid) FROM hook_code c WHERE "+where+
		" GROUP BY field, code, word ORDER BY field, code, word", of...)
}
