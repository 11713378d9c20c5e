package sandbox

// listUsers: GET /v2/user. It lists the machine account; its two-factor login is on
// while the service demands codes.
func listUsers(c *call) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	items := []any{object{"id", 1, "uuid", c.st.UserID, "username", c.st.Login, "status", "ACCEPT", "is2fa",
		c.st.TOTPSecret != "", "isDeleted", false}}
	return p.body(1, items[min(p.offset(), 1):]), nil
}
