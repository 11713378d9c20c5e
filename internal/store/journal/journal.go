// Package journal keeps what has happened and what is still to be done, in the core
// database: the audit trail, requests for approval, writes whose outcome is not
// known, document replacements, verification journeys, and which person has which object open.
// Each type implements the Store of the package that owns its subject.
package journal

import (
	"encoding/json"
	"fmt"

	"opdeck/internal/store"
)

// encode is v as it is stored.
func encode(v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return string(body), nil
}

// decode reads a row of one column that holds a T.
func decode[T any](scan store.Scan) (v T, err error) {
	var body []byte
	if err = scan(&body); err != nil {
		return v, err
	}
	if err = json.Unmarshal(body, &v); err != nil {
		err = fmt.Errorf("store: a stored %T cannot be read: %w", v, err)
	}
	return v, err
}
