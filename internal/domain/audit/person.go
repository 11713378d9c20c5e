package audit

import "opdeck/api"

// Person is the one behind a record.
type Person struct {
	Name string `json:"name,omitempty"`
	Role string `json:"role,omitempty"`
	// SSH: fingerprint of the key, of the certified one where a certificate was used
	Key    string `json:"key,omitempty"`
	Login  string `json:"login,omitempty"`  // SSH: the login name that was proven
	Cert   string `json:"cert,omitempty"`   // SSH: the certificate's key id
	Serial string `json:"serial,omitempty"` // SSH: its serial number and the fingerprint of who signed it
	UID    string `json:"uid,omitempty"`    // local: the user id that the kernel knows
	// what knows the person: the kernel's boot id, or the host key of the SSH server
	Host string `json:"host,omitempty"`
	// Claim says what a local name rests on; "" for a name that was proven.
	Claim string `json:"claim,omitempty"`
}

func personOf(a api.Actor) Person {
	return Person{Name: bounded(a.Name, maxWord), Role: bounded(string(a.Role), maxWord), Key: bounded(a.Key, maxWord),
		Login: bounded(a.Login, maxWord), Cert: bounded(a.Cert, maxWord), Serial: bounded(a.Serial, maxWord),
		UID: bounded(a.UID, maxWord), Host: bounded(a.Host, maxWord), Claim: prose(a.Claim())}
}

// Who is the name with what a local one rests on, as a record keeps them.
func (p Person) Who() string {
	if p.Claim == "" {
		return p.Name
	}
	return p.Name + " (" + p.Claim + ")"
}
