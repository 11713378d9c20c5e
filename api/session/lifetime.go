package session

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// Documented lifetimes (spec, Authentication rule 6), against which a value without a known unit is compared.
const (
	documentedAccess  = 5 * time.Minute
	documentedRefresh = 15 * time.Minute
)

// claims are the two times of a JWT that matter here; the service verifies its signature.
type claims struct {
	Iat *float64 `json:"iat"`
	Exp *float64 `json:"exp"`
}

// lifetimeOf reads exp and iat of a JWT. ok is false for anything else.
func lifetimeOf(token string) (life time.Duration, exp time.Time, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0, time.Time{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return 0, time.Time{}, false
	}
	var c claims
	if json.Unmarshal(raw, &c) != nil || c.Exp == nil || !epoch(*c.Exp) {
		return 0, time.Time{}, false
	}
	exp = time.Unix(int64(*c.Exp), 0)
	if c.Iat == nil || !epoch(*c.Iat) || *c.Exp <= *c.Iat {
		return 0, exp, false
	}
	return time.Duration((*c.Exp - *c.Iat) * float64(time.Second)), exp, true
}

// epoch reports whether v can be a time in seconds (years 2001 to 2286).
func epoch(v float64) bool { return v >= 1e9 && v < 1e10 }

// unit is a possible unit of an announced lifetime.
type unit int

const (
	seconds unit = iota
	millis
	epochSeconds
	epochMillis
	minutes
	noUnit
)

// read turns v into a duration; now is the service's clock.
func (u unit) read(v float64, now time.Time) time.Duration {
	switch u {
	case seconds:
		return span(v)
	case millis:
		return span(v / 1e3)
	case epochSeconds:
		return span(v - float64(now.UnixMilli())/1e3)
	case epochMillis:
		return span(v/1e3 - float64(now.UnixMilli())/1e3)
	case minutes:
		return span(v * 60)
	}
	return 0
}

// span converts seconds; an implausible length is 0.
func span(s float64) time.Duration {
	if math.IsNaN(s) || s <= 0 || s > 1e9 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

func plausible(d time.Duration) bool { return d >= time.Second && d <= 24*time.Hour }

// accessLife returns how long an access token lives (protocol section 2.4): v as announced, jwt its own exp - iat (0:
// unknown), now the service's clock. ok is false if nothing plausible was announced and nothing else is known.
func accessLife(v float64, jwt time.Duration, now time.Time) (life time.Duration, u unit, warning string, ok bool) {
	if jwt > 0 {
		near := max(2*time.Second, jwt/20)
		for _, u := range []unit{seconds, millis, epochSeconds, epochMillis, minutes} {
			if d := u.read(v, now); d > 0 && (d-jwt).Abs() <= near {
				return d, u, "", true
			}
		}
		if d := seconds.read(v, now); plausible(d) && d < jwt {
			return d, seconds, "", true
		}
		return jwt, noUnit, "the service announces a lifetime that its own token contradicts; opdeck uses the token's", true
	}
	life, u = likely(v, 24*time.Hour, documentedAccess, now)
	return life, u, "", u != noUnit
}

// likely reads an announced lifetime without further evidence. The documents call it seconds and authoritative, so it
// is seconds unless that exceeds most; else it is the unit closest to documented.
func likely(v float64, most, documented time.Duration, now time.Time) (time.Duration, unit) {
	if d := seconds.read(v, now); d >= time.Second && d <= most {
		return d, seconds
	}
	return nearest(v, documented, now)
}

// nearest returns the unit whose result is closest in ratio to documented. It never guesses minutes.
func nearest(v float64, documented time.Duration, now time.Time) (best time.Duration, u unit) {
	u = noUnit
	far := math.Inf(1)
	for _, c := range []unit{seconds, millis, epochSeconds, epochMillis} {
		d := c.read(v, now)
		if !plausible(d) {
			continue
		}
		if dist := math.Abs(math.Log(float64(d) / float64(documented))); dist < far {
			best, u, far = d, c, dist
		}
	}
	return best, u
}

// refreshLife reads the refresh token's lifetime in the unit of the access token's. A refresh token may live for
// weeks; it is cut to a day, since a longer one is not needed. Without a value the documented one applies.
func refreshLife(v float64, u unit, now time.Time) time.Duration {
	const most = 30 * 24 * time.Hour
	if u != noUnit {
		if d := u.read(v, now); d >= time.Second {
			return min(d, most)
		}
	}
	if d, u := likely(v, most, documentedRefresh, now); u != noUnit {
		return d
	}
	return documentedRefresh
}

// margin is how long before it expires a pair is handed over (rule B2).
func (c Constants) margin(life time.Duration) time.Duration {
	return min(max(life/10, c.MarginMin), c.MarginMax, life/3)
}
