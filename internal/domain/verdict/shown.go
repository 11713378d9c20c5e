package verdict

// show sets which parts a fact that still holds shows to be good, and what each state rests on.
func (v *Verdict) show(f Facts) {
	v.shows = map[Part]string{}
	if d, known := f.Feed.at(f.Now); known && !d.Expected {
		v.off = map[Part]bool{PartFeed: true}
	}
	for part, shown := range map[Part]func(Facts) (bool, string){PartConfig: showConfig, PartStore: showStore,
		PartClock: showClock, PartService: showService, PartCertificate: showCertificate, PartSession: showSession,
		PartBudget: showBudget, PartAudit: showAudit, PartWrites: showWrites, PartFeed: showFeed, PartIndex: showIndex} {
		good, because := shown(f)
		if good {
			v.states[part] = Good
		}
		if because != "" {
			v.shows[part] = because
		}
	}
}

func showConfig(f Facts) (bool, string) {
	if c, known := f.Config.at(f.Now); known && len(c.Mistakes) == 0 {
		return true, "the config is valid"
	}
	return false, ""
}

func showStore(f Facts) (bool, string) {
	store, known := f.Store.at(f.Now)
	if !known || store.State != StoreGood {
		return false, ""
	}
	return true, store.Engine + " was read at " + clock(f.Store.At)
}

func showClock(f Facts) (bool, string) {
	c, known := f.Clock.at(f.Now)
	if !known {
		return false, ""
	}
	return true, "differs from the service's by " + span(c.Ahead.Abs())
}

func showCertificate(f Facts) (bool, string) {
	c, known := f.Certificate.at(f.Now)
	if !known {
		return false, ""
	}
	return true, "valid until " + day(c.Until)
}

func showService(f Facts) (bool, string) {
	if !reached(f) {
		return false, "no recent good answer"
	}
	var newest Call
	for _, one := range f.Calls {
		if one.Value.Good.After(newest.Good) {
			newest = one.Value
		}
	}
	return true, newest.Route + " was answered at " + clock(newest.Good)
}

// loginWorks reports whether the newest login or refresh succeeded and the service still answers: a session whose
// tokens have expired unused is renewed by the next call.
func loginWorks(f Facts) bool {
	var newest Attempt
	for _, one := range f.Attempts {
		if a, known := one.at(f.Now); known && a.At.After(newest.At) {
			newest = a
		}
	}
	return newest.OK && reached(f)
}

func showSession(f Facts) (bool, string) {
	s, known := f.Session.at(f.Now)
	switch {
	case !known:
		return false, ""
	case !s.Refused.IsZero():
		return false, "a call was refused at " + moment(s.Refused, f.Now) +
			" (401), and no call has succeeded with the tokens since"
	case s.AccessUntil.After(f.Now):
		return true, "the access token is valid until " + moment(s.AccessUntil, f.Now)
	case s.RefreshUntil.After(f.Now):
		return true, "the refresh token is valid until " + moment(s.RefreshUntil, f.Now)
	case loginWorks(f):
		return true, "the tokens have expired, and the last login succeeded"
	case s.State == "none":
		return false, "there are no tokens yet"
	}
	return false, "there are no valid tokens"
}

func showBudget(f Facts) (bool, string) {
	room, used := false, false
	for _, one := range f.Budgets {
		b, known := one.at(f.Now)
		room, used = room || known, used || known && (b.Asked || b.Room <= 0)
	}
	if !room || used {
		return false, ""
	}
	return true, "every class has calls left"
}

func showAudit(f Facts) (bool, string) {
	a, known := f.Audit.at(f.Now)
	if !known || !a.Writable {
		return false, ""
	}
	return true, "the last record was stored"
}

func showWrites(f Facts) (bool, string) {
	if w, known := f.Writes.at(f.Now); !known || w.Doubtful+w.Stuck > 0 {
		return false, ""
	}
	return true, "every write has a known outcome"
}

func showFeed(f Facts) (bool, string) {
	d, known := f.Feed.at(f.Now)
	switch {
	case !known:
		return false, ""
	case !d.Expected:
		return false, "no receiver is configured"
	case d.Last.IsZero():
		return false, "no event yet"
	}
	return true, "the last event came at " + moment(d.Last, f.Now)
}

func showIndex(f Facts) (bool, string) {
	i, known := f.Index.at(f.Now)
	if !known {
		return false, ""
	}
	return i.Whole, i.Says
}
