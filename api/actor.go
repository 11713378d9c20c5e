package api

// Actor is the person behind a call. Name is for display only; Identity identifies the person.
type Actor struct {
	Name    string `json:"name"`
	Role    Role   `json:"role"`
	Via     string `json:"via"`               // console, command, ssh, service
	From    string `json:"from,omitempty"`    // address and port over SSH, host name locally
	Session string `json:"session,omitempty"` // one console or connection

	// Over SSH only; the key exchange proves all of them.
	Key    string `json:"key,omitempty"`    // fingerprint of the key; with a certificate, of the certified key
	Login  string `json:"login,omitempty"`  // login name
	Cert   string `json:"cert,omitempty"`   // the certificate's key id
	Serial string `json:"serial,omitempty"` // the certificate's serial number and its signer's fingerprint
	Proof  string `json:"-"`                // the public key or certificate in authorized_keys format, to check it again
	At     string `json:"-"`                // address and port of this host that the person reached

	// Locally only, from the kernel. Name is then only a label.
	UID      string `json:"uid,omitempty"`
	LoginUID string `json:"login_uid,omitempty"` // before sudo or su, where the kernel records it
	// Host identifies what vouches for the person: locally the running kernel's id, which its containers share; over
	// SSH the fingerprint of the server's host key.
	Host  string `json:"host,omitempty"`
	Doubt string `json:"doubt,omitempty"` // why UID may be shared; completes a sentence about the UID
}

// Claim says what a local name is based on, "local uid 54321" and the doubt about it; "" for a proven name.
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
