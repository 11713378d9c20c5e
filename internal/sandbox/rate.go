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

// accept loads the settings, decides which faults fire and counts the request.
// If it returns an answer, the call ends with it.
func accept(c *call, rt route) (*answer, error) {
	var blocked *answer
	err := c.write(c.ctx, func(tx *sql.Tx) (err error) {
		if c.st, err = loadSettings(c.ctx, tx); err != nil {
			return err
		}
		f, err := ParseFaults(c.st.Faults)
		if err != nil {
			return err
		}
		c.lag, c.order, c.variants = f.lag, f.order, f.variants
		c.now = c.at.Add(f.skew)
		if c.faults, err = fire(c.ctx, tx, f, rt, c.r.Method); err != nil {
			return err
		}
		if blocked, err = countRate(c, tx, rt.class); err != nil || blocked != nil {
			return err
		}
		return increment(c.ctx, tx, "calls."+rt.name)
	})
	return blocked, err
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
		return &a, increment(ctx, tx, "throttled."+string(class))
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
		if err := increment(ctx, tx, "warned."+string(class)); err != nil {
			return nil, err
		}
	}
	err = execute(ctx, tx,
		`INSERT INTO counter(name, value) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = max(value, excluded.value)`,
		"max."+string(class), used)
	if err != nil {
		return nil, err
	}
	return nil, increment(ctx, tx, "requests."+string(class))
}

func tooMany(seconds int) *refusal {
	r := refuse(http.StatusTooManyRequests, "Too many requests")
	r.header = http.Header{"Retry-After": {strconv.Itoa(seconds)}}
	return r
}

// increment adds one to a counter.
func increment(ctx context.Context, q querier, name string) error {
	_, err := incremented(ctx, q, name)
	return err
}

// incremented adds one to a counter and returns it.
func incremented(ctx context.Context, q querier, name string) (n int64, err error) {
	err = q.QueryRowContext(ctx,
		`INSERT INTO counter(name, value) VALUES(?, 1) ON CONFLICT(name) DO UPDATE SET value = value + 1 RETURNING value`,
		name).Scan(&n)
	return n, err
}
