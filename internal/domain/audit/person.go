package audit

import "opdeck/api"

// Person is the person behind a record.
type Person struct {
	Name string `json:"name,omitempty"`
	Role string `json:"role,omitempty"`
	// SSH: fingerprint of the key; with a certificate, of the certified key
	Key    string `json:"key,omitempty"`
	Login  string `json:"login,omitempty"`  // SSH: the proven login name
	Cert   string `json:"cert,omitempty"`   // SSH: the certificate's key id
	Serial string `json:"serial,omitempty"` // SSH: its serial number and the fingerprint of its signer
	UID    string `json:"uid,omitempty"`    // local: the user id from the kernel
	// the kernel's boot id, or the host key of the SSH server
	Host string `json:"host,omitempty"`
	// Claim says what a local name is based on; "" for a proven name.
	Claim string `json:"claim,omitempty"`
}

func personOf(a api.Actor) Person {
	return Person{Name: bounded(a.Name, maxWord), Role: bounded(string(a.Role), maxWord), Key: bounded(a.Key, maxWord),
		Login: bounded(a.Login, maxWord), Cert: bounded(a.Cert, maxWord), Serial: bounded(a.Serial, maxWord),
		UID: bounded(a.UID, maxWord), Host: bounded(a.Host, maxWord), Claim: prose(a.Claim())}
}

// Who is the name and, for a local one, what it is based on, in the form of records.
func (p Person) Who() string {
	if p.Claim == "" {
		return p.Name
	}
	return p.Name + " (" + p.Claim + ")"
}
