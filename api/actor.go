package api

// Actor is the person behind a call. Name is what people read; what tells one
// person from another is Identity.
type Actor struct {
	Name    string `json:"name"`
	Role    Role   `json:"role"`
	Via     string `json:"via"`               // console, command, ssh, service
	From    string `json:"from,omitempty"`    // address and port over SSH, host name locally
	Session string `json:"session,omitempty"` // one console or connection

	// Over SSH, all proven by the exchange.
	Key    string `json:"key,omitempty"`    // fingerprint of the key, of the certified one where a certificate was used
	Login  string `json:"login,omitempty"`  // login name
	Cert   string `json:"cert,omitempty"`   // the certificate's key id
	Serial string `json:"serial,omitempty"` // the certificate's serial number and the fingerprint of who signed it
	Proof  string `json:"-"`                // the public key or certificate as authorized_keys has it, to judge it again
	At     string `json:"-"`                // address and port of this host that the person reached

	// Locally, as the kernel knows them. Name is a label then.
	UID      string `json:"uid,omitempty"`
	LoginUID string `json:"login_uid,omitempty"` // before sudo or su, where the kernel keeps it
	// Host is what knows the person: locally the running kernel's id, the same in all
	// its containers; over SSH the fingerprint of the server's host key.
	Host  string `json:"host,omitempty"`
	Doubt string `json:"doubt,omitempty"` // why UID does not tell people apart; ends a sentence that begins with it
}

// Claim says what a local name rests on, "local uid 54321" and the doubt about it;
// "" for a person whose name was proven.
func (a Actor) Claim() string {
	if a.UID == "" {
		return ""
	}
	s := "local uid " + a.UID
	if a.LoginUID != "" && a.LoginUID != a.UID {
		s += ", logged in as uid " + a.LoginUID
	}
	if a.Doubt != "" {
		s += ", which " + a.Doubt
	}
	return s
}
