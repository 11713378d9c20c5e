package sandbox

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// Texts of refused removals, exactly as documented.
const (
	textEnded  = "Cannot modify documents for completed operations"
	textLocked = "Document is locked and cannot be removed"
)

// removeDocument: DELETE /v2/billing/operation/{id}/document/{documentId}. It removes the link only; the customer
// keeps the document.
func removeDocument(c *call) (any, error) {
	opid, document := c.params[0], c.params[1]
	var out any
	var refused *refusal
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		o, file, err := removable(c, tx, opid, document)
		if errors.As(err, &refused) {
			return logRemoval(c, tx, opid, document, "refused: "+refused.message)
		}
		if err != nil {
			return err
		}
		if err := execute(c.ctx, tx, `DELETE FROM link WHERE op = ? AND file = ?`, o.n, file); err != nil {
			return err
		}
		if err := logRemoval(c, tx, opid, document, "removed"); err != nil {
			return err
		}
		out, err = changedOperation(c, tx, o)
		return err
	})
	if err == nil && refused != nil {
		return nil, refused
	}
	return out, err
}

// removable checks in this order: operation, document, link, state, lock.
func removable(c *call, tx *sql.Tx, opid, document string) (o operationRow, file int64, err error) {
	o, f, links, err := findBoth(c, tx, opid, document)
	switch {
	case err != nil:
		return o, 0, err
	case links == 0:
		return o, 0, refuse(http.StatusConflict, fmt.Sprintf("Document %s is not attached to operation %s", document, opid))
	case ended(o.status) && !c.st.AllowEndStates:
		return o, 0, refuse(http.StatusConflict, textEnded)
	case f.locked:
		return o, 0, refuse(http.StatusLocked, textLocked)
	}
	return o, f.n, nil
}

// findBoth finds an operation, then a document, and counts the links between them.
func findBoth(c *call, tx *sql.Tx, opid, document string) (o operationRow, f fileRow, links int64, err error) {
	if o, err = findOperation(c, tx, opid); err != nil {
		return o, f, 0, err
	}
	if f, err = findFile(c.ctx, tx, "", document); err != nil {
		return o, f, 0, err
	}
	links, err = count(c.ctx, tx, `SELECT count(*) FROM link WHERE op = ? AND file = ?`, o.n, f.n)
	return o, f, links, err
}

// changedOperation marks o as changed, raises its event and returns it as the answer.
func changedOperation(c *call, tx *sql.Tx, o operationRow) (any, error) {
	if err := moveOperation(c, tx, &o, o.status, move{}); err != nil {
		return nil, err
	}
	return showOperation(c, tx, o)
}

func logRemoval(c *call, tx *sql.Tx, opid, document, outcome string) error {
	return execute(c.ctx, tx, `INSERT INTO removal(at, login, token, opid, document, outcome) VALUES(?, ?, ?, ?, ?, ?)`,
		c.at.UnixNano(), c.st.Login, c.token, opid, document, outcome)
}

type attachIn struct{ DocumentID, Name string }

// attachDocument: POST /v2/billing/operation/{id}/document.
func attachDocument(c *call, in attachIn) (any, error) {
	if in.DocumentID == "" {
		return nil, refuse(http.StatusBadRequest, "documentId is required")
	}
	var out any
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		o, file, err := attachable(c, tx, c.params[0], in.DocumentID)
		if err != nil {
			return err
		}
		if err := execute(c.ctx, tx, `INSERT INTO link(op, file, name) VALUES(?, ?, ?)`, o.n, file, in.Name); err != nil {
			return err
		}
		out, err = changedOperation(c, tx, o)
		return err
	})
	return out, err
}

func attachable(c *call, tx *sql.Tx, opid, document string) (o operationRow, file int64, err error) {
	o, f, links, err := findBoth(c, tx, opid, document)
	switch {
	case err != nil:
		return o, 0, err
	case f.customer != o.customer:
		return o, 0, refuse(http.StatusConflict, fmt.Sprintf("Document %s belongs to another customer", document))
	case links > 0:
		return o, 0, refuse(http.StatusConflict, fmt.Sprintf("Document %s is already attached to operation %s", document,
			opid))
	case ended(o.status) && !c.st.AllowEndStates:
		return o, 0, refuse(http.StatusConflict, textEnded)
	}
	return o, f.n, nil
}

// parseGUID parses the canonical form only.
func parseGUID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && id.String() == strings.ToLower(text)
}
