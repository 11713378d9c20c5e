package hook

import "strconv"

// The published status codes of customers, accounts and counterparties' accounts, by number. The service does not
// publish those of operations.
var statusNames = map[Object][7]string{
	ObjectClient:       {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "VERIFY"},
	ObjectAccount:      {"NEW", "MODERATION", "MODERATED", "ACCEPTED", "REJECTED", "BANNED", "PROCESSING"},
	ObjectCounterparty: {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "PROGRESS"},
}

// StatusName returns the published name of an object's status code. Operations have none.
func StatusName(o Object, c Code) (name string, ok bool) {
	names, known := statusNames[o]
	if !known || !c.Given || c.Value < 0 || c.Value >= int64(len(names)) {
		return "", false
	}
	return names[c.Value], true
}

// StatusText shows a status: "3 ACCEPT", "1 (unlisted)", or "not given". Learnt codes of operations are in a Meaning,
// with evidence, and never here.
func StatusText(o Object, c Code) string {
	if name, ok := StatusName(o, c); ok {
		return strconv.FormatInt(c.Value, 10) + " " + name
	}
	return c.String()
}

// String shows a code that has no published name.
func (c Code) String() string {
	if !c.Given {
		return "not given"
	}
	return strconv.FormatInt(c.Value, 10) + " (unlisted)"
}
