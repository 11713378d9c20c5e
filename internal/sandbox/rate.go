package sandbox

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"opdeck/api/limit"
)

// rateWindow is the window of the recommended rates.
const rateWindow = time.Minute

// accept loads the settings and counts the request. If it returns an answer, the call ends with it. The page behind a
// compliance link is not part of the service, and not counted.
func accept(c *call, rt route) (blocked *answer, err error) {
	return blocked, c.write(c.ctx, func(tx *sql.Tx) error {
		if c.st, err = loadSettings(c.ctx, tx); err != nil || rt.class == classPage {
			return err
		}
		blocked, err = countRate(c, tx, rt.class)
		return err
	})
}

// countRate counts the request in the window of its class. Above the recommended
// rate it warns, or refuses with hard limits; a refused request is not counted.
func countRate(c *call, tx *sql.Tx, class limit.Class) (*answer, error) {
	ctx, at := c.ctx, c.at.UnixNano()
	var used, oldest int64
	err := tx.QueryRowContext(ctx, `SELECT count(*), ifnull(min(at), 0) FROM request WHERE class = ? AND at > ?`, class,
		at-int64(rateWindow)).Scan(&used, &oldest)
	if err != nil {
		return nil, err
	}
	most := int64(c.st.PerMinute[class])
	if c.st.HardLimits && used >= most {
		wait := int(math.Ceil(float64(oldest+int64(rateWindow)-at) / float64(time.Second)))
		r := tooMany(max(wait, 1))
		a := failure(r)
		return &a, nil
	}
	used++
	res, err := tx.ExecContext(ctx, `INSERT INTO request(at, class) VALUES(?, ?)`, at, class)
	if err != nil {
		return nil, err
	}
	if id, err := res.LastInsertId(); err == nil && id%256 == 0 {
		if err := execute(ctx, tx, `DELETE FROM request WHERE at < ?`, at-2*int64(rateWindow)); err != nil {
			return nil, err
		}
	}
	if used > most {
		c.warning = fmt.Sprintf("%s: %d requests in 60 s, %d recommended", class, used, most)
	}
	return nil, nil
}

func tooMany(seconds int) *refusal {
	r := refuse(http.StatusTooManyRequests, "Too many requests")
	r.header = http.Header{"Retry-After": {strconv.Itoa(seconds)}}
	return r
}

// incremented adds one to a counter and returns it.
func incremented(ctx context.Context, q querier, name string) (n int64, err error) {
	err = q.QueryRowContext(ctx,
		`INSERT INTO counter(name, value) VALUES(?, 1) ON CONFLICT(name) DO UPDATE SET value = value + 1 RETURNING value`,
		name).Scan(&n)
	return n, err
}
