package session

import (
	"cmp"
	"fmt"

	"opdeck/api/evidence"
)

// The history keeps what calls have shown of a pair, so that its conclusions hold after a restart, too. Times are
// the store's.

// generation is a pair as the object of conclusions.
func generation(gen int64) string { return fmt.Sprintf("generation %d", gen) }

// refusedBy is a 401 of a route for the pair of e.
func refusedBy(e Event, route string) evidence.Evidence {
	return evidence.Evidence{Read: routeName(route), Route: route, Object: generation(e.Gen),
		Seen: evidence.Moment{At: e.At, By: evidence.Store}, Date: e.Served, Covers: evidence.Whole,
		Shows: "refused " + generation(e.Gen) + " (401)"}
}

// dead concludes that the service no longer accepts the pair of e. The evidence is the route that was probed because
// another one had refused the pair: one route alone may refuse for a reason of its own.
func dead(past []Event, e Event, row Row) (evidence.Conclusion, evidence.Need) {
	witness := cmp.Or(e.By, e.Route)
	c := evidence.Conclusion{Kind: evidence.Dead, Says: generation(e.Gen) + " was revoked",
		Rests: []evidence.Evidence{refusedBy(e, witness)}}
	need := evidence.Need{Routes: []string{witness}, Object: generation(e.Gen), Covers: evidence.Whole,
		Now: evidence.Moment{At: row.At, By: evidence.Store}}
	for _, p := range past {
		if p.rotated() && p.Gen == e.Gen && p.Session == e.Session { // when that pair came
			need.After = []evidence.Moment{{At: p.At, By: evidence.Store}}
		}
	}
	return c, need
}

// foreign concludes from a dead pair that another client ended it: none of our processes did.
func foreign(past []Event, e Event, row Row) (evidence.Conclusion, evidence.Need) {
	c, need := dead(past, e, row)
	c.Kind, c.Says = evidence.Foreign, "another client logged in or refreshed"
	for i := range c.Rests {
		c.Rests[i].Shows += ", which none of our processes had replaced"
	}
	return c, need
}

// forbidden concludes that one route refuses a pair which another one accepts.
func forbidden(e Event, row Row) (evidence.Conclusion, evidence.Need) {
	c := evidence.Conclusion{Kind: evidence.Forbidden, Says: "not authorised for " + routeName(e.Route),
		Rests: []evidence.Evidence{{Read: routeName(e.By), Route: e.By,
			Object: generation(e.Gen), Seen: evidence.Moment{At: e.At, By: evidence.Store}, Covers: evidence.Whole,
			Shows: "accepted " + generation(e.Gen) + " after this route had refused it"}}}
	return c, evidence.Need{Routes: []string{e.By}, Object: generation(e.Gen), Covers: evidence.Whole,
		Now: evidence.Moment{At: row.At, By: evidence.Store}}
}

// because adds a conclusion to what a verdict rests on, and reports whether it holds.
func (v *Verdict) because(c evidence.Conclusion, need evidence.Need) bool {
	c, holds := c.Held(need, "not known: "+c.Says)
	v.Why = append(v.Why, c)
	return holds
}
