package verdict

// Ability is what a person can do, and whether it works now.
type Ability struct {
	Name  string // "reading"
	State State  // Bad: it does not work
}

// Abilities are what works and what does not, most used first. Reading is without the local copy, which is there as
// long as the store is; webhooks are left out where the config switches them off.
func (v Verdict) Abilities() []Ability {
	reading := SessionParts()
	out := []Ability{{"reading", v.StateOf(reading...)}, {"the local copy", v.StateOf(PartStore, PartIndex)},
		{"writing", v.StateOf(append(reading, PartAudit, PartWrites)...)}}
	for i, rests := range map[int]Part{1: PartIndex, 2: PartAudit} { // not known is not good
		if v.states[rests] == Unknown && out[i].State != Bad {
			out[i].State = Unknown
		}
	}
	if !v.Off(PartFeed) {
		out = append(out, Ability{"webhooks", v.Of(PartFeed)})
	}
	return out
}
