// node_modules/preact/dist/preact.mjs
var e, t, n, r, i, a, o, s, c, l, u, d = Symbol.for("pv"), f = {}, p = [], m = /^m(i|n|o|s|text|space)$/, h = Array.isArray, g = p.slice, _ = Object.assign;
function v(e) {
	e && e.parentNode && e.remove();
}
function y(n, r, i, a, o) {
	var s = {
		type: n,
		props: r,
		key: i,
		ref: a,
		__k: null,
		__: null,
		__b: 0,
		__e: null,
		__c: null,
		constructor: d,
		__v: o || ++t,
		__i: -1,
		__u: 0
	};
	return !o && e.vnode && e.vnode(s), s;
}
function b(e) {
	return e.children;
}
function x(e, t) {
	this.props = e, this.context = t, this.__g = 0;
}
function S(e, t) {
	if (t == null) return e.__ && S(e.__, e.__i + 1);
	for (var n; t < e.__k.length; t++) if ((n = e.__k[t]) && n.__e) return n.__e;
	return typeof e.type != "function" || e.props.__P ? null : S(e);
}
function C(t) {
	var n, r = t.__v, i = r.__e, a = [], o = [], s = t.__P;
	s && ((n = _({ constructor: d }, r)).__v = r.__v + 1, e.vnode && e.vnode(n), te(s, n, r, t.__n, s.namespaceURI, 32 & r.__u ? [i] : null, a, i || S(r), 32 & r.__u, o), n.__v = r.__v, n.__.__k[n.__i] = n, ie(a, n, o), r.__ = r.__e = null, n.__e != i && w(n));
}
function w(e) {
	if ((e = e.__) && e.__c && !e.props.__P) return e.__e = null, e.__k.some(function(t) {
		return t && (e.__e = t.__e);
	}), w(e);
}
function T(t) {
	(8 & t.__g || (t.__g |= 8, n.push(t), i++)) && r == e.debounceRendering || ((r = e.debounceRendering) || queueMicrotask)(E);
}
function E() {
	try {
		for (var e, t = 1; n.length;) n.length > t && n.sort(a), e = n.shift(), t = n.length, 8 & e.__g && C(e);
	} finally {
		(i = n.length) && (r || queueMicrotask)(E);
	}
}
function D(e, t, n, r, i, a, o, s, c, l, u) {
	var d, m, h, g, _, v, y = r.__k || p, b = t.length;
	for (c = O(n, t, y, c, b), d = 0; d < b; d++) (h = n.__k[d]) != null && (m = ~h.__i && y[h.__i] || f, h.__i = d, v = te(e, h, m, i, a, o, s, c, l, u), g = h.__e, (m.ref != h.ref || 8 & m.__u) && (m.ref && P(m.ref, null, h, m), h.ref && u.push(h.ref, h.__c || g, h)), _ ||= g, 4 & h.__u ? (c = k(h, c, e, !m.__v), m.__e && (m.__e = null)) : typeof h.type == "function" && v !== void 0 ? c = v : g && (c = g.nextSibling), h.__u &= -21);
	return n.__e = _, c;
}
function O(e, t, n, r, i) {
	var a, o, s, c, l, u, f, p, m, g = n.length, _ = g, v = 0, x = 0, C = e.__k = Array(i);
	for (a = 0; a < i; a++) (o = t[a]) != null && typeof o != "boolean" && typeof o != "function" ? (typeof o != "object" || o.constructor === String ? o = C[a] = y(null, o) : h(o) ? o = C[a] = y(b, { children: o }) : o.constructor === d && o.__b ? o = C[a] = y(o.type, o.props, o.key, o.ref, o.__v) : C[a] = o, c = a + v, o.__ = e, o.__b = e.__b + 1, s = null, ~(l = o.__i = A(o, n, c, _)) && (_--, (s = n[l]) && (s.__u |= 2)), s && s.__v ? (o.__u |= 16, l == c - 1 ? v-- : l == c + 1 ? v++ : l != c && (l > c ? v-- : v++, x = 1)) : (~l || (i > g ? v-- : i < g && v++), typeof o.type != "function" && (o.__u |= 4))) : C[a] = null;
	if (x) {
		for (u = [], f = [], a = 0; a < i; a++) if ((o = C[a]) && 16 & o.__u) {
			for (v = 0, p = u.length; v < p;) u[m = v + p >> 1] < o.__i ? v = m + 1 : p = m;
			u[v] = o.__i, f[a] = v + 1;
		}
		for (v = u.length; a--;) f[a] && (f[a] == v ? v-- : C[a].__u |= 4);
	}
	if (_) for (a = 0; a < g; a++) !(s = n[a]) || 2 & s.__u || (s.__e == r && (r = S(s)), ae(s, s));
	return r;
}
function k(e, t, n, r) {
	var i, a, o, s;
	if (typeof e.type == "function") {
		if (e.props.__P) return t;
		if (i = e.__k) for (a = 0; a < i.length; a++) i[a] && (i[a].__ = e, t = k(i[a], t, n, !1));
		return t;
	}
	for (t && !t.parentNode && (t = S(e)) && !t.parentNode && (t = null), o = e.__e, s = t; s && s.nodeType == 8;) s = s.nextSibling;
	for (o != s && (!r && n.moveBefore && o.parentNode ? n.moveBefore(o, t) : n.insertBefore(o, t || null)), t = o; (t &&= t.nextSibling) && t.nodeType == 8 && !t.data.startsWith("$s"););
	return t;
}
function A(e, t, n, r) {
	var i, a = e.key, o = e.type, s = t[n], c = s && !(2 & s.__u);
	if (s === null && a == null || c && a == s.key && o == s.type) return n;
	if (r > +!!c) {
		for (i = n - 1; i >= 0; i--) if ((s = t[i]) && !(2 & s.__u) && a == s.key && o == s.type) return i;
		for (i = n + 1; i < t.length; i++) if ((s = t[i]) && !(2 & s.__u) && a == s.key && o == s.type) return i;
	}
	return -1;
}
function j(e, t, n) {
	n ??= "", t[0] == "-" ? e.setProperty(t, n) : e[t] = n;
}
function M(e, t, n, r, i) {
	var a, o;
	if (t == "style") {
		if (typeof n == "string") e.style.cssText = n;
		else {
			if (typeof r == "string" && (e.style.cssText = r = ""), r) for (t in r) n && t in n || j(e.style, t);
			if (n) for (t in n) r && n[t] == r[t] || j(e.style, t, n[t]);
		}
	} else if (t[0] == "o" && t[1] == "n") typeof n != "function" && (n = null), typeof r != "function" && (r = null), (e.__e ||= {})[t] = n, n && r || (o = l[t] || (l[t] = ee(t)), (e.__a ||= {})[t] = c, a = t != (t = t.replace(s, "$1")), (t = t.slice(2))[0] < "a" && (t = t.toLowerCase()), n ? e.addEventListener(t, o, a) : e.removeEventListener(t, o, a));
	else {
		if (i == "http://www.w3.org/2000/svg") t = t.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
		else if (t != "width" && t != "height" && t != "href" && t != "list" && t != "form" && t != "tabIndex" && t != "download" && t != "rowSpan" && t != "colSpan" && t != "role" && t != "popover" && t in e) try {
			e[t] = n ?? "";
			return;
		} catch {}
		if (typeof n == "function") return;
		n == null || !1 === n && t[4] != "-" ? e.removeAttribute(t) : e.setAttribute(t, t == "popover" && n == 1 ? "" : n);
	}
}
function ee(t) {
	return function(n) {
		var r = this.__e;
		if (r) {
			if (r = r[t], n[o] == null) n[o] = c++;
			else if (n[o] < this.__a[t]) return;
			return r(e.event ? e.event(n) : n);
		}
	};
}
function te(t, n, r, i, a, o, s, c, l, u) {
	var f, m, g, y, C, w, T, E, O, k, A, j, M, ee, te, ie, P, F, I = n.type;
	if (n.constructor !== d) return null;
	128 & r.__u && (l = 32 & r.__u, f = r.__c.__z) && (n.__u |= l, m = o = [], f.nodeType == 8 ? c = ne(f, o) : o.push(f), c = o[0] || c), (f = e.__b) && f(n);
	n: if (typeof I == "function") {
		g = s.length;
		try {
			if (E = n.props, O = (f = I.prototype) && f.render, k = (f = I.contextType) && i[f.__c], A = f ? k ? k.props.value : f.__ : i, (y = r.__c) ? (n.__c = y, 2 & y.__g && (y.__g |= 1)) : (O ? n.__c = y = new I(E, A) : (n.__c = y = new x(E, A), y.constructor = I, y.render = oe), k && k.sub(y), y.state || (y.state = {}), y.__n = i, y.__g |= 8, y.__h = [], y.__k = []), O && (y.__s || (y.__s = y.state), I.getDerivedStateFromProps && (y.__s == y.state && (y.__s = _({}, y.__s)), _(y.__s, I.getDerivedStateFromProps(E, y.__s)))), C = y.props, w = y.state, y.__v = n, r.__c) {
				if (E !== C && O && !I.getDerivedStateFromProps && y.componentWillReceiveProps && y.componentWillReceiveProps(E, A), n.__v == r.__v && !(8 & y.__g) || !(4 & y.__g) && y.shouldComponentUpdate && !1 === y.shouldComponentUpdate(E, y.__s, A)) {
					n.__v != r.__v && (y.props = E, y.state = y.__s, y.__g &= -9), n.__e = r.__e, n.__k = r.__k, n.__k.some(function(e) {
						e && (e.__ = n);
					}), p.push.apply(y.__h, y.__k), y.__k = [], y.__h.length && s.push(y), c = S(r);
					break n;
				}
				y.componentWillUpdate && y.componentWillUpdate(E, y.__s, A), O && y.componentDidUpdate && y.__h.push(function() {
					y.componentDidUpdate(C, w, T);
				});
			} else O && !I.getDerivedStateFromProps && y.componentWillMount && y.componentWillMount(), O && y.componentDidMount && y.__h.push(y.componentDidMount);
			y.context = A, y.props = E, y.__P = t, y.__g &= -5, j = e.__r, M = O ? 25 : 0;
			do
				y.__g &= -9, j && j(n), f = y.render(y.props, y.state = y.__s, y.context);
			while (8 & y.__g && ++M < 25);
			O && (p.push.apply(y.__h, y.__k), y.__k = []), y.state = y.__s, y.getChildContext && (i = _({}, i, y.getChildContext())), O && r.__c && y.getSnapshotBeforeUpdate && (T = y.getSnapshotBeforeUpdate(C, w)), ee = f && f.type === b && f.key == null ? f.props.children : f, E.__P && (f = c, a = (t = E.__P).namespaceURI, l = o = null, r.props && r.props.__P != t && (r.__k.some(function(e) {
				e && ae(e, e);
			}), r.__k = null), c = r.__k ? S(r, 0) : null), c = D(t, h(ee) ? ee : [ee], n, r, i, a, o, s, c, l, u), E.__P && (n.__e = null, c = f), n.__u &= -161, m && m.some(v), y.__h.length && s.push(y), 1 & y.__g && (y.__g &= -4);
		} catch (t) {
			if (s.length = g, n.__v = null, l || o) {
				if (t && t.then) {
					if (n.__u |= 128 | l, o) {
						for (~(P = o.indexOf(c || void 0)) || (P = o.length); (F = o[P - 1]) && F.nodeType == 8;) P--;
						for (; P < o.length; P++) if (F = o[P]) {
							if (o[P] = null, te) {
								if (F == ie) break;
							} else {
								if (F.nodeType != 8) break;
								F.data.startsWith("$s") && (ie = ne(te = F));
							}
						}
					}
					if (!te) {
						for (; c && c.nodeType == 8 && c.nextSibling;) c = c.nextSibling;
						te = c;
					}
					(f = ne(te = n.__c.__z || (n.__c.__z = te))) ? (n.__e = te, c = f) : n.__e = c, c &&= c.nextSibling;
				} else o && o.some(v);
			} else n.__e = r.__e;
			n.__k ||= r.__k || [], t && t.then || re(n), e.__e(t, n, r);
		}
	} else c = n.__e = N(r.__e, n, r, i, a, o, s, l, u, t);
	return (f = e.diffed) && f(n), c;
}
function ne(e, t) {
	if (e && e.nodeType == 8 && e.data.startsWith("$s")) for (var n = 1; e = e.nextSibling;) {
		if (e.nodeType == 8) {
			if (e.data.startsWith("$s")) n++;
			else if (e.data.startsWith("/$s") && !--n) return e;
		}
		t && t.push(e);
	}
}
function re(e) {
	e && (e.__c && (e.__c.__g |= 4), e.__k && e.__k.some(re));
}
function ie(t, n, r) {
	for (var i = 0; i < r.length;) P(r[i++], r[i++], r[i++]);
	e.__c && e.__c(n, t), t.some(function(n) {
		try {
			t = n.__h, n.__h = [], t.some(function(e) {
				e.call(n);
			});
		} catch (t) {
			e.__e(t, n.__v);
		}
	});
}
function N(t, n, r, i, a, o, s, c, l, u) {
	var d, p, _, y, b, x, C, w, T = r.props || f, E = n.props, O = n.type;
	if (O == "svg" ? a = "http://www.w3.org/2000/svg" : O == "math" ? a = "http://www.w3.org/1998/Math/MathML" : a ||= "http://www.w3.org/1999/xhtml", o) {
		for (d = 0; d < o.length; d++) if ((b = o[d]) && (O ? b.localName == O : b.nodeType == 3)) {
			t = b, o[d] = null;
			break;
		}
	}
	if (!t) {
		if (w = u.ownerDocument || document, !O) return w.createTextNode(E);
		t = w.createElementNS(a, O, E.is ? E : u), c &&= (e.__m && e.__m(n, o), !1), o = null;
	}
	if (O) {
		if (u = O == "template" && t.content || t, o = O == "textarea" && E.defaultValue != null ? null : o && g.call(u.childNodes), !c && o) for (T = {}, d = 0; d < t.attributes.length; d++) T[(b = t.attributes[d]).name] = b.value;
		for (d in T) b = T[d], d == "dangerouslySetInnerHTML" ? _ = b : d == "children" || d in E || d == "value" && "defaultValue" in E || d == "checked" && "defaultChecked" in E || M(t, d, null, b, a);
		for (d in E) b = E[d], d == "children" ? y = b : d == "dangerouslySetInnerHTML" ? p = b : d == "value" ? x = b : d == "checked" ? C = b : c && typeof b != "function" || T[d] === b || M(t, d, b, T[d], a);
		p ? (c || _ && (p.__html == _.__html || p.__html == t.innerHTML) || (t.innerHTML = p.__html), n.__k = []) : (_ && (t.textContent = ""), (O == "foreignObject" || a == "http://www.w3.org/1998/Math/MathML" && m.test(O)) && (a = "http://www.w3.org/1999/xhtml"), D(u, h(y) ? y : [y], n, r, i, a, o, s, o ? o[0] : r.__k && S(r, 0), c, l), o && o.some(v)), c && O != "textarea" || (d = "value", O == "progress" && x == null ? t.removeAttribute(d) : x == null || x === t[d] && (O != "progress" || x) || M(t, d, x, T[d], a), d = "checked", C != null && C != t[d] && M(t, d, C, T[d], a));
	} else T === E || c && t.data == E || (t.data = E);
	return t;
}
function P(t, n, r, i) {
	try {
		typeof t == "function" ? n ? n.__x = t(n) || 1 : (i &&= i.__c || i.__e) && (n = i.__x) && (i.__x = null, typeof n == "function" ? n() : t(null)) : t.current = n;
	} catch (t) {
		e.__e(t, r);
	}
}
function ae(t, n, r) {
	var i, a, o, s;
	if (e.unmount && e.unmount(t), !(i = t.ref) || i.current && i.current != t.__e || P(i, null, n, t), i = t.__c) {
		if (i.componentWillUnmount) try {
			i.componentWillUnmount();
		} catch (t) {
			e.__e(t, n);
		}
		i.__P = i.__n = null;
	}
	if (i = t.__k) for (s = 0; s < i.length; s++) i[s] && ae(i[s], n, typeof t.type != "function" || r && !t.props.__P);
	!r && (i = t.__c) && (i = i.__z) && (a = ne(i, o = [])) && (i == t.__e && o.some(v), v(a), v(i)), r || v(t.__e), t.__e = t.__c = t.__ = null;
}
function oe(e, t, n) {
	return this.constructor(e, n);
}
function F(t, n) {
	var r, i, a, o;
	e.__ && e.__(t, n), n.nodeType == 9 && (n = n.documentElement), i = (r = t && 32 & t.__u) ? null : n.__k, n.__k = y(b, { children: [t] }), a = [], o = [], te(n, n.__k, i || f, f, n.namespaceURI, i ? null : n.firstChild ? g.call(n.childNodes) : null, a, i ? i.__e : n.firstChild, r, o), ie(a, n.__k, o), n.__k.props.children = null;
}
function I(e) {
	function t(e) {
		var n, r;
		return this.getChildContext || (n = /* @__PURE__ */ new Set(), (r = {})[t.__c] = this, this.getChildContext = function() {
			return r;
		}, this.shouldComponentUpdate = function(e) {
			this.props.value != e.value && n.forEach(function(e) {
				e.__g |= 4, T(e);
			});
		}, this.sub = function(e) {
			n.add(e);
			var t = e.componentWillUnmount;
			e.componentWillUnmount = function() {
				n.delete(e), t && t.call(e);
			};
		}), e.children;
	}
	return t.__c = "__cC" + u++, t.__ = e, t.Provider = (t.Consumer = function(e, t) {
		return e.children(t);
	}).contextType = t, t;
}
e = { __e: function(e, t, n, r) {
	for (var a, o, s; t = t.__;) if ((a = t.__c) && !(1 & a.__g)) {
		a.__g |= 4;
		try {
			if ((s = (o = a.constructor) && o.getDerivedStateFromError) && a.setState(o.getDerivedStateFromError(e)), a.componentDidCatch && (a.componentDidCatch(e, r || {}), s = 1), s && 8 & a.__g) return void (a.__g |= 2);
		} catch (t) {
			e = t;
		}
	}
	throw i = 0, e;
} }, t = 0, x.prototype.setState = function(e, t) {
	var n = this.__s;
	n && n != this.state || (n = this.__s = _({}, this.state)), typeof e == "function" && (e = e(_({}, n), this.props)), e && (_(n, e), this.__v && (t && this.__k.push(t), T(this)));
}, x.prototype.forceUpdate = function(e) {
	this.__v && (this.__g |= 4, e && this.__h.push(e), T(this));
}, x.prototype.render = b, n = [], i = 0, a = function(e, t) {
	return e.__v.__b - t.__v.__b;
}, o = Symbol(), s = /(PointerCapture)$|Capture$/i, c = 0, l = {}, u = 0;
// src/components/theme.ts
var se = "timesink-theme";
function ce() {
	try {
		let e = localStorage.getItem(se);
		return e === "light" || e === "dark" ? e : "auto";
	} catch {
		return "auto";
	}
}
function le(e) {
	ue(e);
	try {
		e === "auto" ? localStorage.removeItem(se) : localStorage.setItem(se, e);
	} catch {}
}
function ue(e) {
	let t = document.documentElement;
	e === "auto" ? delete t.dataset.theme : t.dataset.theme = e, t.dispatchEvent(new CustomEvent("themechange"));
}
function de() {
	addEventListener("beforeprint", () => ue("light")), addEventListener("afterprint", () => ue(ce()));
}
function fe(e) {
	let t = document.documentElement, n = matchMedia("(prefers-color-scheme: dark)");
	return t.addEventListener("themechange", e), n.addEventListener("change", e), () => {
		t.removeEventListener("themechange", e), n.removeEventListener("change", e);
	};
}
function pe(e) {
	return getComputedStyle(document.documentElement).getPropertyValue(e).trim();
}
// node_modules/preact/hooks/dist/hooks.mjs
var me, he, ge, _e, ve = Object.is, ye = 0, be = [], xe = [], Se = e, L = Se.__b, R = Se.__r, Ce = Se.diffed, we = Se.__c, Te = Se.unmount, Ee = Se.__;
function De(e, t) {
	Se.__h && Se.__h(he, e, ye || t), ye = 0;
	var n = he.__H || (he.__H = {
		__: [],
		__h: []
	});
	return e >= n.__.length && n.__.push({}), n.__[e];
}
function z(e) {
	return ye = 1, Oe(Ve, e);
}
function Oe(e, t, n) {
	var r = De(me++, 2);
	if (r.t = e, !r.__c && (r.__ = [n ? n(t) : Ve(void 0, t), function(e) {
		var t = (r.__N || r.__)[0], n = r.t(t, e);
		ve(t, n) || (r.__N = [n, r.__[1]], r.__c.setState({}));
	}], r.__c = he, !he.__f)) {
		he.__f = !0;
		var i = he.shouldComponentUpdate;
		he.shouldComponentUpdate = function(e, t, n) {
			var r = this.__H;
			if (!r) return !0;
			var a = !1, o = this.props != e;
			if (r.__.some(function(e) {
				e.__N && (a = !0, ve(e.__[0], e.__N[0]) || (o = !0));
			}), i) {
				var s = i.call(this, e, t, n);
				return a ? s || o : s;
			}
			return !a || o;
		};
	}
	return r.__;
}
function B(e, t) {
	var n = De(me++, 3);
	!Se.__s && Be(n.__H, t) && (n.__P = !0, n.__ = e, n.u = t, he.__H.__h.push(n));
}
function ke(e, t) {
	var n = De(me++, 4);
	!Se.__s && Be(n.__H, t) && (n.__P = !1, n.__ = e, n.u = t, he.__h.push(n));
}
function V(e) {
	return ye = 5, Ae(function() {
		return { current: e };
	}, []);
}
function Ae(e, t) {
	var n = De(me++, 7);
	return Be(n.__H, t) && (n.__ = e(), n.__H = t), n.__;
}
function je(e, t) {
	return ye = 8, Ae(function() {
		return e;
	}, t);
}
function Me(e) {
	var t = he.context[e.__c], n = De(me++, 9);
	return n.c = e, t ? (n.__ ?? (n.__ = !0, t.sub(he)), t.props.value) : e.__;
}
function Ne() {
	var e = De(me++, 11);
	if (!e.__) {
		for (var t = he.__v; !t.__m && t.__;) t = t.__;
		var n = t.__m || (t.__m = [0, 0]);
		e.__ = "P" + n[0] + "-" + n[1]++;
	}
	return e.__;
}
function Pe() {
	var e;
	do {
		for (; e = xe.shift();) try {
			Re(e);
		} catch (t) {
			Se.__e(t, { __: (e = e.__P) && e.__v });
		}
		for (; e = be.shift();) {
			var t = e.__H;
			if (e.__P && t) try {
				t.__h.some(Re), t.__h.some(ze), t.__h = [];
			} catch (n) {
				t.__h = [], Se.__e(n, e.__v);
			}
		}
	} while (xe.length);
}
Se.__b = function(e) {
	he = null, L && L(e);
}, Se.__ = function(e, t) {
	e && t.__k && t.__k.__m && (e.__m = t.__k.__m), Ee && Ee(e, t);
}, Se.__r = function(e) {
	R && R(e), me = 0;
	var t = (he = e.__c).__H;
	t && (ge == he ? he.__h = [] : (t.__h.some(Re), t.__h.some(ze), me = 0), t.__h = [], t.__.some(function(e) {
		e.__N && (e.__ = e.__N), e.u = e.__N = void 0;
	})), ge = he;
}, Se.diffed = function(e) {
	Ce && Ce(e);
	var t = e.__c;
	t && t.__H && (t.__H.__h.length && Le(be.push(t)), t.__H.__.some(function(e) {
		e.u && (e.__H = e.u);
	})), ge = he = null;
}, Se.__c = function(e, t) {
	t.some(function(e) {
		try {
			e.__h.some(Re), e.__h = e.__h.filter(function(e) {
				return !e.__ || ze(e);
			});
		} catch (t) {
			e.__h = [function() {
				throw t;
			}];
		}
	}), we && we(e, t);
}, Se.unmount = function(e) {
	Te && Te(e);
	var t, n, r = e.__c;
	r && r.__H && (r.__H.__.some(function(r) {
		try {
			if (r.__P && r.__c) {
				if (n === void 0) {
					for (n = e.__; n && (!n.__c || !n.__c.__P);) n = n.__;
					n &&= n.__c;
				}
				r.__P = n, Le(xe.push(r));
			} else Re(r);
		} catch (e) {
			t = e;
		}
	}), r.__H = void 0, t && Se.__e(t, r.__v));
};
var Fe = typeof requestAnimationFrame == "function";
function Ie(e) {
	var t, n = function() {
		clearTimeout(r), Fe && cancelAnimationFrame(t), setTimeout(e);
	}, r = setTimeout(n, 35);
	Fe && (t = requestAnimationFrame(n));
}
function Le(e) {
	e != 1 && _e == Se.requestAnimationFrame || ((_e = Se.requestAnimationFrame) || Ie)(Pe);
}
function Re(e) {
	var t = he, n = e.__c;
	typeof n == "function" && (e.__c = void 0, n()), he = t;
}
function ze(e) {
	var t = he;
	e.__c = e.__(), he = t;
}
function Be(e, t) {
	return !e || e.length != t.length || t.some(function(t, n) {
		return !ve(t, e[n]);
	});
}
function Ve(e, t) {
	return typeof t == "function" ? t(e) : t;
}
// src/app/api/cache.ts
var He = class {
	size;
	#e = /* @__PURE__ */ new Map();
	constructor(e = 40) {
		this.size = e;
	}
	get(e) {
		let t = this.#e.get(e);
		if (t !== void 0) return this.#e.delete(e), this.#e.set(e, t), t;
	}
	set(e, t) {
		this.#e.delete(e), this.#e.set(e, t);
		for (let e of this.#e.keys()) {
			if (this.#e.size <= this.size) break;
			this.#e.delete(e);
		}
	}
}, Ue = 300, We = 1e3, Ge = 20, Ke = class extends Error {
	hint;
	status;
	constructor(e, t, n) {
		super(e), this.hint = t, this.status = n, this.name = "ApiError";
	}
};
function qe(e, t = (e, t) => fetch(e, t), n = et) {
	let r = (t, n = {}) => {
		let r = new URL(`api/${t}`, e);
		for (let [e, t] of Object.entries(n)) t !== void 0 && t !== "" && r.searchParams.set(e, String(t));
		return r.href;
	};
	async function i(e, i, { signal: a, onProgress: o } = {}) {
		for (let s = 0;;) {
			let c = await Xe(t, r(e, i), a);
			if (c.status === 202) o?.(await Qe(c)), await n(Ue, a);
			else if (c.status === 503 && s < Ge) {
				s += 1;
				let { message: e } = await Ze(c);
				o?.({
					doing: e,
					share: null,
					waited_s: s
				}), await n(We, a);
			} else if (c.ok) return c;
			else throw await Ze(c);
		}
	}
	return {
		href: r,
		json: async (e, t, n) => Qe(await i(e, t, n)),
		binary: async (e, t, n) => (await i(e, t, n)).arrayBuffer()
	};
}
function Je(e) {
	return e instanceof DOMException && e.name === "AbortError";
}
function Ye(e) {
	return e instanceof Ke ? e : new Ke("The page failed to show this.", `It says: ${e instanceof Error ? e.message : String(e)}`, 0);
}
async function Xe(e, t, n) {
	try {
		return await e(t, {
			...n && { signal: n },
			headers: { Accept: "application/json" }
		});
	} catch (e) {
		throw Je(e) ? e : new Ke("The server does not answer.", "Is timesink still running? The page asks again by itself.", 0);
	}
}
async function Ze(e) {
	try {
		let { error: t, hint: n } = await e.json();
		return new Ke($e(t), $e(n ?? ""), e.status);
	} catch {
		return new Ke($e(`The server answered ${e.status} ${e.statusText}`.trim()), "Its log may say more.", e.status);
	}
}
async function Qe(e) {
	try {
		return await e.json();
	} catch (t) {
		throw Je(t) ? t : new Ke("The server's answer cannot be read.", "Reload the page: the server may be another version than the page.", e.status);
	}
}
function $e(e) {
	let t = e.trim();
	if (!t) return "";
	let [n = ""] = t.split(/\s/, 1), r = /^[a-z]+,?$/.test(n) && t[0] ? t[0].toUpperCase() + t.slice(1) : t;
	return /[.!?:]$/.test(r) ? r : `${r}.`;
}
function et(e, t) {
	return new Promise((n, r) => {
		let i = () => {
			clearTimeout(a), r(new DOMException("nobody waits any more", "AbortError"));
		}, a = setTimeout(() => {
			t?.removeEventListener("abort", i), n();
		}, e);
		t?.addEventListener("abort", i, { once: !0 }), t?.aborted && i();
	});
}
// src/app/context.ts
var tt = I(null), nt = tt.Provider;
function rt() {
	let e = Me(tt);
	if (!e) throw Error("outside of the app");
	return e;
}
// src/app/layout/focus.ts
function it(e, t) {
	let n = V(!0);
	B(() => {
		let t = e.current;
		if (!t) return;
		if (n.current) {
			n.current = !1;
			return;
		}
		if (scrollTo(0, 0), t.focus({ preventScroll: !0 }), at(t)) return;
		let r = new MutationObserver(() => {
			(document.activeElement !== t || at(t)) && r.disconnect();
		});
		return r.observe(t, {
			childList: !0,
			subtree: !0
		}), () => r.disconnect();
	}, [t]);
}
function at(e) {
	let t = e.querySelector("h1");
	return t ? (t.tabIndex = -1, t.focus({ preventScroll: !0 }), !0) : !1;
}
// node_modules/preact/jsx-runtime/dist/jsxRuntime.mjs
var ot = Symbol.for("pv"), st = 0;
Array.isArray;
function H(t, n, r, i, a, o) {
	n ||= {};
	var s, c, l = n;
	if ("ref" in l && typeof t != "function") for (c in l = {}, n) c == "ref" ? s = n[c] : l[c] = n[c];
	var u = {
		type: t,
		props: l,
		key: r,
		ref: s,
		__k: null,
		__: null,
		__b: 0,
		__e: null,
		__c: null,
		constructor: ot,
		__v: --st,
		__i: -1,
		__u: 0
	};
	return (a || o) && (u.__source = a, u.__self = o), e.vnode && e.vnode(u), u;
}
// src/components/Icon.tsx
var ct = {
	good: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13M5 8.2l2.1 2.1L11 6",
	notice: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13M8 7.3v3.9M8 4.8v.1",
	warning: "M8 2L1.6 13.5h12.8zM8 6.4v3.4M8 11.6v.1",
	bad: "M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3zM8 4.6v4M8 11.2v.1",
	slower: "M2 11.5l4-4l3 3L14 4.5M10 4.5h4v4",
	faster: "M2 4.5l4 4l3-3L14 11.5M10 11.5h4v-4",
	same: "M3 6h10M3 10h10",
	unknown: "M5.8 6a2.3 2.3 0 1 1 3.4 2c-.8.45-1.2.9-1.2 1.9M8 12.2v.1",
	search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9M10.3 10.3L14 14",
	copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
	columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
	down: "M4 6l4 4l4-4",
	up: "M4 10l4-4l4 4",
	sun: "M8 5a3 3 0 1 0 0 6a3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9L13 13M13 3l-1.1 1.1M4.1 11.9L3 13",
	moon: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5A5.8 5.8 0 1 0 13.5 9.6z",
	auto: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13M8 1.5v13M8 5h4M8 8h5M8 11h4",
	advice: "M5.5 10.5a4.2 4.2 0 1 1 5 0v1.7h-5zM6.3 14.3h3.4",
	link: "M6 10l4.5-4.5M6.5 5h4v4",
	reset: "M3 3v3.5h3.5M3.3 6.3A5.2 5.2 0 1 1 3 9.5",
	print: "M4.5 6V2h7v4M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7V14h-7z",
	close: "M4 4l8 8M12 4l-8 8"
};
function U({ name: e, size: t = 16 }) {
	return /* @__PURE__ */ H("svg", {
		class: "icon",
		width: t,
		height: t,
		viewBox: "0 0 16 16",
		"aria-hidden": "true",
		children: /* @__PURE__ */ H("path", { d: ct[e] })
	});
}
var lt = {
	plain: "notice",
	good: "good",
	notice: "notice",
	warning: "warning",
	bad: "bad"
};
function ut(e) {
	return lt[e] ?? "notice";
}
// src/components/ThemeToggle.tsx
var dt = {
	auto: "light",
	light: "dark",
	dark: "auto"
}, ft = {
	auto: "auto",
	light: "sun",
	dark: "moon"
};
function pt() {
	let [e, t] = z(ce);
	B(() => ue(e), [e]);
	let n = () => {
		le(dt[e]), t(dt[e]);
	}, r = `Theme: ${e}. Change to ${dt[e]}.`;
	return /* @__PURE__ */ H("button", {
		type: "button",
		class: "icon-button theme-toggle",
		onClick: n,
		"aria-label": r,
		title: r,
		children: /* @__PURE__ */ H(U, { name: ft[e] })
	});
}
// src/app/routing/route.ts
var mt = [
	"overview",
	"operators",
	"kernels",
	"memory",
	"modules",
	"distributed",
	"trace"
];
function ht(e) {
	let [t = "", n = ""] = Tt(e.replace(/^#/, ""), "?"), r = St(n), i = {
		at: "unknown",
		path: t,
		query: r
	}, a = t.split("/").filter(Boolean).map(wt);
	if (a.includes(null)) return i;
	let [o, ...s] = a;
	return o === void 0 ? {
		at: "home",
		query: r
	} : o === "compare" && s.length === 0 ? {
		at: "compare",
		query: r
	} : o === "run" && s.length > 0 ? bt(s, r) ?? i : i;
}
function gt(e) {
	let t = Ct(e.query);
	switch (e.at) {
		case "home": return `#/${t}`;
		case "compare": return `#/compare${t}`;
		case "run": return `#/run/${encodeURIComponent(e.run)}/${e.page}${t}`;
		case "unknown": return `#${e.path}${t}`;
	}
}
function _t(e, t, n = {}, r = {}) {
	let { worker: i = "", span: a = "" } = n;
	return gt({
		at: "run",
		run: e,
		page: t,
		query: {
			worker: i,
			span: a,
			...r
		}
	});
}
function vt(e, t) {
	return Object.fromEntries(Object.entries({
		...e,
		...t
	}).filter(([, e]) => e));
}
function yt(e) {
	return e.at === "run" ? `run ${e.run} ${e.page}` : e.at === "unknown" ? `unknown ${e.path}` : e.at;
}
function bt(e, t) {
	let n = e.at(-1);
	return e.length === 1 ? {
		at: "run",
		run: n,
		page: "overview",
		query: t
	} : xt(n) ? {
		at: "run",
		run: e.slice(0, -1).join("/"),
		page: n,
		query: t
	} : null;
}
function xt(e) {
	return mt.includes(e);
}
function St(e) {
	return Object.fromEntries(new URLSearchParams(e));
}
function Ct(e) {
	let t = Object.entries(e).filter(([, e]) => e !== "");
	return t.length ? `?${new URLSearchParams(t)}` : "";
}
function wt(e) {
	try {
		return decodeURIComponent(e);
	} catch {
		return null;
	}
}
function Tt(e, t) {
	let n = e.indexOf(t);
	return n < 0 ? [e, ""] : [e.slice(0, n), e.slice(n + 1)];
}
// src/app/routing/navigation.ts
var Et = new EventTarget(), Dt = (e, t = "push") => {
	let n = gt(e);
	n !== location.hash && (t === "push" ? history.pushState(null, "", n) : history.replaceState(null, "", n), Et.dispatchEvent(new Event("change")));
};
function Ot() {
	let [e, t] = z(location.hash);
	return B(() => {
		let e = () => t(location.hash);
		return addEventListener("hashchange", e), addEventListener("popstate", e), Et.addEventListener("change", e), () => {
			removeEventListener("hashchange", e), removeEventListener("popstate", e), Et.removeEventListener("change", e);
		};
	}, []), ht(e);
}
// src/app/routing/pageTitle.ts
function kt(e) {
	return e.charAt(0).toUpperCase() + e.slice(1);
}
// src/app/runs/choice.ts
function At(e, t) {
	let n = t.worker || e.workers[0]?.name || "", [r] = [...Mt(e, n), ...e.workers[0]?.spans ?? []];
	return {
		worker: n,
		span: t.span || r || ""
	};
}
function jt(e) {
	return !e || e.timeline ? mt : e.counters.length > 0 ? ["kernels"] : [];
}
function Mt(e, t) {
	return e.workers.find(({ name: e }) => e === t)?.spans ?? [];
}
function Nt(e) {
	return e ? `${e.bytes}@${e.changed_s}` : "";
}
function Pt(e, t) {
	let n = t.toLowerCase().split(/\s+/).filter(Boolean);
	return e.filter(({ name: e }) => n.every((t) => e.toLowerCase().includes(t)));
}
function Ft(e, t) {
	let n = (e, t) => e.name.localeCompare(t.name, "en", { numeric: !0 });
	return t === "name" ? e.toSorted(n) : e.toSorted((e, r) => r[t] - e[t] || n(e, r));
}
function It(e, t) {
	let { base: n = "", new: r = "" } = e;
	return t === n ? {
		base: r,
		new: ""
	} : t === r ? {
		base: n,
		new: ""
	} : n ? {
		base: n,
		new: t
	} : {
		base: t,
		new: r
	};
}
var Lt = /(?:^|[/_.-])(?:base|baseline|before|main|normal|reference)(?:$|[/_.-])/;
function Rt(e, t, n = "base") {
	let r = Ht(t);
	return Vt(Bt(e, t), (e) => [
		Ut(Ht(e), r),
		n === "base" && Lt.test(e) ? 1 : 0,
		Ut(e, t)
	]);
}
function zt(e, t) {
	return Vt(Bt(e, t).filter((e) => Ut(e, t) > 2), (e) => [Ut(e, t)]);
}
function Bt(e, t) {
	return e.map(({ name: e }) => e).filter((e) => e !== t);
}
function Vt(e, t) {
	return e.toSorted((e, n) => {
		let [r, i] = [t(e), t(n)], a = r.findIndex((e, t) => e !== i[t]);
		return a < 0 ? e.localeCompare(n) : (i[a] ?? 0) - (r[a] ?? 0);
	})[0];
}
function Ht(e) {
	return e.slice(0, e.lastIndexOf("/") + 1);
}
function Ut(e, t) {
	let n = 0;
	for (; n < e.length && e[n] === t[n];) n += 1;
	return n;
}
// src/app/layout/PartPickers.tsx
function Wt({ run: e, route: t }) {
	let { worker: n, span: r } = At(e, t.query), i = e.workers.map(({ name: e }) => e), a = Mt(e, n), o = (e) => {
		let n = Object.entries(t.query).filter(([e]) => e.startsWith("sort.") || e === "group");
		Dt({
			...t,
			query: vt(Object.fromEntries(n), e)
		});
	};
	return /* @__PURE__ */ H(b, { children: [(i.length > 1 || n && !i.includes(n)) && /* @__PURE__ */ H(Gt, {
		label: "Worker",
		names: i,
		chosen: n,
		onChoose: (e) => o({ worker: e })
	}), (a.length > 1 || a.length > 0 && !a.includes(r)) && /* @__PURE__ */ H(Gt, {
		label: "Span",
		names: a,
		chosen: r,
		onChoose: (e) => o({
			worker: n,
			span: e
		})
	})] });
}
function Gt({ label: e, names: t, chosen: n, onChoose: r }) {
	let i = t.includes(n);
	return /* @__PURE__ */ H("label", {
		class: "choice",
		children: [/* @__PURE__ */ H("span", {
			class: "picker-label",
			children: e
		}), /* @__PURE__ */ H("select", {
			value: n,
			onChange: ({ currentTarget: e }) => r(e.value),
			children: [!i && /* @__PURE__ */ H("option", {
				value: n,
				children: [n, " (not there)"]
			}), t.map((e) => /* @__PURE__ */ H("option", {
				value: e,
				children: e
			}, e))]
		})]
	});
}
// src/app/layout/RunPicker.tsx
function Kt({ label: e, runs: t, chosen: n, onPick: r }) {
	let i = Ne(), [a, o] = z(!1), [s, c] = z(""), [l, u] = z(0), d = V(null), f = Pt(t, s), p = f[Math.min(l, f.length - 1)], m = () => {
		c(""), u(Math.max(0, t.findIndex(({ name: e }) => e === n))), o(!0);
	}, h = () => {
		o(!1), d.current?.focus();
	}, g = (e) => {
		h(), r(e);
	};
	return /* @__PURE__ */ H("div", {
		class: "picker",
		onFocusOut: ({ currentTarget: e, relatedTarget: t }) => {
			e.contains(t) || o(!1);
		},
		children: [/* @__PURE__ */ H("button", {
			ref: d,
			type: "button",
			class: "picker-button",
			"aria-haspopup": "listbox",
			"aria-expanded": a,
			"aria-label": `${e}: ${n || "choose"}`,
			title: n,
			onClick: () => a ? o(!1) : m(),
			children: [
				/* @__PURE__ */ H("span", {
					class: "picker-label",
					children: e
				}),
				/* @__PURE__ */ H("span", {
					class: `picker-value ${n ? "" : "empty"}`,
					children: /* @__PURE__ */ H("bdi", { children: n || "choose a run" })
				}),
				/* @__PURE__ */ H(U, {
					name: "down",
					size: 12
				})
			]
		}), a && /* @__PURE__ */ H("div", {
			class: "picker-panel",
			children: [/* @__PURE__ */ H("input", {
				class: "input",
				type: "text",
				role: "combobox",
				"aria-label": `${e}: type to filter`,
				"aria-expanded": "true",
				"aria-controls": `${i}-list`,
				"aria-activedescendant": p && `${i}-${f.indexOf(p)}`,
				autocomplete: "off",
				placeholder: "Type to filter",
				value: s,
				ref: (e) => e?.focus(),
				onInput: ({ currentTarget: e }) => {
					c(e.value), u(0);
				},
				onKeyDown: (e) => {
					let t = {
						ArrowDown: 1,
						ArrowUp: -1
					}[e.key];
					if (t) u(Math.max(0, Math.min(f.length - 1, l + t)));
					else if (e.key === "Enter" && p) g(p.name);
					else if (e.key === "Escape") h();
					else return;
					e.preventDefault();
				}
			}), /* @__PURE__ */ H("div", {
				class: "options",
				id: `${i}-list`,
				role: "listbox",
				"aria-label": e,
				children: [f.map((e, t) => /* @__PURE__ */ H("div", {
					id: `${i}-${t}`,
					role: "option",
					"aria-selected": e === p,
					class: e.name === n ? "chosen" : "",
					ref: (t) => {
						e === p && t?.scrollIntoView({ block: "nearest" });
					},
					onMouseDown: (e) => e.preventDefault(),
					onClick: () => g(e.name),
					children: [e.name, e.growing && /* @__PURE__ */ H("span", {
						class: "tag recording",
						children: "recording"
					})]
				}, e.name)), f.length === 0 && /* @__PURE__ */ H("p", {
					class: "none",
					children: "No run has this in its name."
				})]
			})]
		})]
	});
}
// src/app/layout/Header.tsx
function qt({ onHelp: e }) {
	let { route: t, listing: n } = rt(), r = n?.runs ?? [];
	return /* @__PURE__ */ H("header", {
		class: "app-header",
		children: [/* @__PURE__ */ H("div", {
			class: "app-bar",
			children: [
				/* @__PURE__ */ H("a", {
					class: "brand",
					href: "#/",
					title: "All runs",
					children: [/* @__PURE__ */ H(Zt, {}), "timesink"]
				}),
				/* @__PURE__ */ H("div", {
					class: "subject-pickers",
					children: [
						t.at === "run" && /* @__PURE__ */ H(Jt, {
							route: t,
							runs: r
						}),
						t.at === "compare" && /* @__PURE__ */ H(Yt, {
							route: t,
							runs: r
						}),
						t.at === "home" && n && /* @__PURE__ */ H("span", {
							class: "logdir",
							children: n.logdir
						})
					]
				}),
				/* @__PURE__ */ H("div", {
					class: "app-tools",
					children: [/* @__PURE__ */ H(pt, {}), /* @__PURE__ */ H("button", {
						type: "button",
						class: "icon-button",
						"aria-label": "Help and keys",
						title: "Help and keys (?)",
						onClick: e,
						children: /* @__PURE__ */ H(U, { name: "unknown" })
					})]
				})
			]
		}), /* @__PURE__ */ H(Xt, {
			route: t,
			runs: r
		})]
	});
}
function Jt({ route: e, runs: t }) {
	let n = t.find(({ name: t }) => t === e.run), r = e.page;
	return /* @__PURE__ */ H(b, { children: [
		/* @__PURE__ */ H(Kt, {
			label: "Run",
			runs: t,
			chosen: e.run,
			onPick: (e) => Dt({
				at: "run",
				run: e,
				page: r,
				query: {}
			})
		}),
		n && /* @__PURE__ */ H(Wt, {
			run: n,
			route: e
		}),
		n?.growing && /* @__PURE__ */ H("span", {
			class: "tag recording",
			children: "recording"
		})
	] });
}
function Yt({ route: e, runs: t }) {
	let { base: n = "", new: r = "" } = e.query, i = (t) => Dt({
		at: "compare",
		query: {
			...e.query,
			...t
		}
	});
	return /* @__PURE__ */ H(b, { children: [
		/* @__PURE__ */ H(Kt, {
			label: "Base",
			runs: t,
			chosen: n,
			onPick: (e) => i({
				base: e,
				new: r
			})
		}),
		/* @__PURE__ */ H("button", {
			type: "button",
			class: "icon-button swap",
			"aria-label": "Swap the two runs",
			title: "Swap the two runs",
			disabled: !n && !r,
			onClick: () => i({
				base: r,
				new: n
			}),
			children: "⇄"
		}),
		/* @__PURE__ */ H(Kt, {
			label: "New",
			runs: t,
			chosen: r,
			onPick: (e) => i({
				base: n,
				new: e
			})
		})
	] });
}
function Xt({ route: e, runs: t }) {
	let n = e.at === "run" ? e.run : e.query.new || e.query.base;
	if (e.at !== "run" && e.at !== "compare" || !n) return null;
	let r = t.find(({ name: e }) => e === n);
	if (t.length > 0 && !r) return null;
	let i = e.at === "run" ? e.page : "compare", a = e.at === "run" ? e.query : {}, o = e.at === "compare" ? e.query : { new: n };
	return /* @__PURE__ */ H("nav", {
		class: "page-tabs",
		"aria-label": "Pages",
		children: [...jt(r).map((e) => ({
			page: e,
			href: _t(n, e, a)
		})), {
			page: "compare",
			href: gt({
				at: "compare",
				query: o
			})
		}].map(({ page: e, href: t }) => /* @__PURE__ */ H("a", {
			href: t,
			"aria-current": e === i ? "page" : void 0,
			ref: (t) => {
				e === i && t?.scrollIntoView({
					block: "nearest",
					inline: "nearest"
				});
			},
			children: kt(e)
		}, e))
	});
}
function Zt() {
	return /* @__PURE__ */ H("svg", {
		class: "mark",
		width: "20",
		height: "20",
		viewBox: "0 0 20 20",
		"aria-hidden": "true",
		children: [/* @__PURE__ */ H("path", {
			class: "mark-glass",
			d: "M5 2.5h10M5 17.5h10M6.2 2.5c0 4.2 3.2 5 3.2 7.5s-3.2 3.3-3.2 7.5M13.8 2.5c0 4.2-3.2 5-3.2 7.5s3.2 3.3 3.2 7.5"
		}), /* @__PURE__ */ H("path", {
			class: "mark-sand",
			d: "M7 17c.3-2.4 1.6-3.4 3-3.4s2.7 1 3 3.4z"
		})]
	});
}
// src/app/layout/Help.tsx
var Qt = [
	[["?"], "show this"],
	[["/"], "search on the page"],
	[["Esc"], "close details, lists and this"],
	[["Tab"], "go through links, tables and buttons; Enter follows"]
], $t = [
	[["W", "S"], "zoom in and out"],
	[["A", "D"], "move left and right"],
	[["F"], "fit what is chosen"],
	[["/"], "search in the trace"],
	[["?"], "all keys of the trace"]
];
function en({ open: e, onClose: t }) {
	let { listing: n } = rt(), r = V(null);
	return B(() => {
		e ? r.current?.showModal() : r.current?.close();
	}, [e]), /* @__PURE__ */ H("dialog", {
		ref: r,
		class: "key-help",
		"aria-labelledby": "help-title",
		onClose: t,
		children: [
			/* @__PURE__ */ H("header", { children: [/* @__PURE__ */ H("h2", {
				id: "help-title",
				children: "Keys"
			}), /* @__PURE__ */ H("button", {
				type: "button",
				class: "icon-button",
				"aria-label": "Close",
				onClick: t,
				children: /* @__PURE__ */ H(U, { name: "close" })
			})] }),
			/* @__PURE__ */ H(tn, { rows: Qt }),
			/* @__PURE__ */ H("h3", { children: "In the trace" }),
			/* @__PURE__ */ H(tn, { rows: $t }),
			/* @__PURE__ */ H("p", {
				class: "quiet",
				children: "The address of the page holds everything you see: copy it to show it to someone else. Names of operators, kernels, modules and moments lead to each other."
			}),
			n && /* @__PURE__ */ H("p", {
				class: "quiet",
				children: ["timesink ", n.version]
			})
		]
	});
}
function tn({ rows: e }) {
	return /* @__PURE__ */ H("dl", {
		class: "keys",
		children: e.map(([e, t]) => /* @__PURE__ */ H("div", { children: [/* @__PURE__ */ H("dt", { children: e.map((e) => /* @__PURE__ */ H("kbd", { children: e }, e)) }), /* @__PURE__ */ H("dd", { children: t })] }, t))
	});
}
// src/app/layout/keyboard.ts
function nn(e, t) {
	B(() => {
		let n = (n) => {
			if (!(t || n.defaultPrevented || W(n.target)) && !(n.ctrlKey || n.metaKey || n.altKey)) {
				if (n.key === "?") e();
				else if (n.key === "/") rn();
				else return;
				n.preventDefault();
			}
		};
		return document.addEventListener("keydown", n), () => document.removeEventListener("keydown", n);
	}, [e, t]);
}
function rn() {
	let e = document.querySelector("main input[type=search]");
	e?.focus(), e?.select();
}
function W(e) {
	return e instanceof HTMLElement && (e.isContentEditable || e.matches("input, select, textarea"));
}
// src/app/layout/Shown.tsx
function G({ loaded: e, what: t, children: n }) {
	let { value: r, error: i, loading: a, progress: o, retry: s } = e;
	return /* @__PURE__ */ H(b, { children: [
		a && /* @__PURE__ */ H(an, {
			progress: o,
			what: t
		}),
		i && /* @__PURE__ */ H(on, {
			error: i,
			onRetry: s
		}),
		r !== void 0 && n(r)
	] });
}
function an({ progress: e, what: t }) {
	let n = e?.share ?? null, r = e?.doing || `Waiting for ${t}`;
	return /* @__PURE__ */ H("div", {
		class: "working",
		role: "status",
		children: [/* @__PURE__ */ H("progress", {
			...n === null ? {} : { value: n },
			max: 1,
			"aria-label": r
		}), /* @__PURE__ */ H("p", { children: [sn(r), n !== null && /* @__PURE__ */ H("span", {
			class: "share",
			children: [
				" ",
				Math.round(n * 100),
				" %"
			]
		})] })]
	});
}
function on({ error: e, onRetry: t }) {
	return /* @__PURE__ */ H("div", {
		class: "failure",
		role: "alert",
		children: [
			/* @__PURE__ */ H("h2", { children: e.message }),
			e.hint && /* @__PURE__ */ H("p", { children: e.hint }),
			/* @__PURE__ */ H("p", {
				class: "next",
				children: [/* @__PURE__ */ H("button", {
					type: "button",
					class: "button",
					onClick: t,
					children: "Try again"
				}), /* @__PURE__ */ H("a", {
					href: "#/",
					children: "All runs"
				})]
			})
		]
	});
}
function sn(e) {
	return e.charAt(0).toUpperCase() + e.slice(1);
}
// src/components/Prose.tsx
function K({ text: e }) {
	let t = e.split("`");
	return t.length % 2 == 0 ? /* @__PURE__ */ H(b, { children: e }) : /* @__PURE__ */ H(b, { children: t.map((e, t) => t % 2 ? /* @__PURE__ */ H("code", { children: e }, t) : e) });
}
// src/components/sentences.ts
function q(e, t = 30) {
	for (let n of e.matchAll(/[.!?] (?=[A-Z0-9"`])/g)) {
		let r = n.index + 1;
		if (r >= t) return [e.slice(0, r), e.slice(r + 1)];
	}
	return [e, ""];
}
// src/components/Headline.tsx
var cn = 110;
function ln({ document: e }) {
	let [t, n] = q(e.headline);
	return /* @__PURE__ */ H("header", {
		class: `headline tone-${e.tone}`,
		children: [
			/* @__PURE__ */ H("p", {
				class: "subject",
				children: e.subject
			}),
			/* @__PURE__ */ H("h1", {
				class: t.length > cn ? "long" : "",
				children: [e.tone !== "plain" && /* @__PURE__ */ H(U, {
					name: ut(e.tone),
					size: 22
				}), /* @__PURE__ */ H("span", { children: /* @__PURE__ */ H(K, { text: t }) })]
			}),
			n && /* @__PURE__ */ H("p", {
				class: "more",
				children: /* @__PURE__ */ H(K, { text: n })
			})
		]
	});
}
// src/components/links.ts
var un = {
	hrefOfCell: () => null,
	hrefOfLink: () => null
}, dn = I(un);
// src/components/SectionNav.tsx
function fn({ sections: e }) {
	let t = pn(e), n = V(null);
	return B(() => {
		let e = n.current?.querySelector("[aria-current]");
		n.current && e && (n.current.scrollLeft = e.offsetLeft - n.current.offsetLeft);
	}, [t]), /* @__PURE__ */ H("nav", {
		class: "section-nav",
		"aria-label": "Sections",
		children: /* @__PURE__ */ H("ul", {
			ref: n,
			children: e.map(({ id: e, title: n }) => /* @__PURE__ */ H("li", { children: /* @__PURE__ */ H("a", {
				href: `#${e}`,
				"aria-current": e === t ? "location" : void 0,
				children: n
			}) }, e))
		})
	});
}
function pn(e) {
	let [t, n] = z(e[0]?.id);
	return B(() => {
		let t = () => n(mn(e));
		return t(), addEventListener("scroll", t, { passive: !0 }), () => removeEventListener("scroll", t);
	}, [e]), t;
}
function mn(e) {
	let { scrollHeight: t, clientHeight: n, scrollTop: r } = document.documentElement;
	return r > 0 && r + n >= t - 2 ? e.at(-1)?.id : (e.filter(({ id: e }) => {
		let t = document.getElementById(e);
		return t !== null && t.getBoundingClientRect().top < n * .3;
	}).at(-1) ?? e[0])?.id;
}
// src/format/rounding.ts
function hn(e, t) {
	let n = Math.abs(e) * 2 ** (t + 1);
	if (!Number.isInteger(n) || n % 2 == 0) return e.toFixed(t);
	let r = Math.floor(Math.abs(e) * 10 ** t), i = r % 2 == 0 ? r : r + 1;
	return `${e < 0 ? "-" : ""}${(i / 10 ** t).toFixed(t)}`;
}
function gn(e) {
	let [t = "0", n = "0"] = e.toExponential(2).split("e"), r = Number(n);
	if (r >= -4) return String(Number(e.toPrecision(3)));
	let i = r < 0 ? "-" : "+";
	return `${Number(t)}e${i}${String(Math.abs(r)).padStart(2, "0")}`;
}
function _n(e) {
	let [t = "", n] = e.split("."), r = t.replace(/\B(?=(\d{3})+$)/g, " ");
	return n === void 0 ? r : `${r}.${n}`;
}
function J(e, t) {
	let { digits: n, unit: r } = vn(e, t);
	return r ? `${n} ${r}` : n;
}
function vn(e, t) {
	if (t == null) return {
		digits: "-",
		unit: ""
	};
	if (typeof t == "string") return {
		digits: t,
		unit: ""
	};
	if (Number.isNaN(t)) return {
		digits: "-",
		unit: ""
	};
	switch (e) {
		case "time_ns": return Sn(t);
		case "moment_ns": return {
			digits: _n(hn(t / 1e6, 3)),
			unit: "ms"
		};
		case "bytes": return wn(t);
		case "bytes_per_s": {
			let { digits: e, unit: n } = wn(t);
			return {
				digits: e,
				unit: `${n}/s`
			};
		}
		case "count": return {
			digits: _n(hn(t, 0)),
			unit: ""
		};
		case "share": return {
			digits: hn(100 * t, 1),
			unit: "%"
		};
		case "percent": return {
			digits: hn(t, 1),
			unit: "%"
		};
		case "number": return {
			digits: bn(t),
			unit: ""
		};
		default: return {
			digits: String(t),
			unit: ""
		};
	}
}
function yn(e, t) {
	let n = J(e, Math.abs(t));
	return /[1-9]/.test(n) ? `${t < 0 ? "−" : "+"}${n}` : n;
}
function bn(e) {
	return e !== 0 && Math.abs(e) < 5e-4 ? gn(e) : _n(hn(e, 3));
}
var xn = [
	[1, "ns"],
	[1e3, "us"],
	[1e6, "ms"]
];
function Sn(e) {
	for (let [t, n] of xn) {
		let r = t === 1 ? hn(e, 0) : Cn(e / t);
		if (Math.abs(Number(r)) < 1e3) return {
			digits: r,
			unit: n
		};
	}
	return {
		digits: Cn(e / 1e9),
		unit: "s"
	};
}
function Cn(e) {
	let t = hn(e, 2);
	return Math.abs(Number(t)) < 100 ? t : hn(e, 1);
}
function wn(e) {
	for (let [t, n] of [
		"B",
		"KiB",
		"MiB",
		"GiB"
	].entries()) {
		let r = hn(e / 1024 ** t, +!!t);
		if (Math.abs(Number(r)) < 1024) return {
			digits: r,
			unit: n
		};
	}
	return {
		digits: hn(e / 1024 ** 4, 1),
		unit: "TiB"
	};
}
var Tn = {
	b: 1,
	kib: 1024,
	mib: 1024 ** 2,
	gib: 1024 ** 3,
	tib: 1024 ** 4,
	kb: 1e3,
	mb: 1e6,
	gb: 1e9,
	tb: 0xe8d4a51000
}, En = {
	ns: 1,
	us: 1e3,
	µs: 1e3,
	ms: 1e6,
	s: 1e9
}, Dn = {
	time_ns: En,
	moment_ns: En,
	bytes: Tn,
	bytes_per_s: Object.fromEntries(Object.entries(Tn).map(([e, t]) => [`${e}/s`, t])),
	share: { "%": .01 },
	percent: { "%": 1 }
};
function On(e, t) {
	let n = /^(-?\d*\.?\d+(?:e[+-]?\d+)?)\s*([a-zµ%/]*)$/i.exec(t.trim());
	if (!n) return null;
	let r = Number(n[1]), i = (n[2] ?? "").toLowerCase();
	if (!i) return r;
	let a = Dn[e]?.[i];
	return a === void 0 ? null : r * a;
}
// src/components/Caption.tsx
var kn = I([]);
function An({ title: e }) {
	let t = Me(kn);
	return e ? /* @__PURE__ */ H("figcaption", {
		class: t.includes(e) ? "visually-hidden" : "",
		children: e
	}) : null;
}
// src/components/scale.ts
function jn(e) {
	let t = Math.min(0, ...e), n = Math.max(0, ...e), r = (n - t || 1) * .04, [i, a] = [t - r, n + r];
	return (e) => Math.min(Math.max(100 * (e - i) / (a - i), 0), 100);
}
var Mn = 1.35;
function Nn(e) {
	let t = Mn * Math.max(...e.map(({ change: e }) => Math.abs(e)), 0);
	return jn(e.flatMap(({ change: e, low: n, high: r }) => [
		e,
		Math.max(n ?? e, -t),
		Math.min(r ?? e, t)
	]));
}
function Pn(e, t, n) {
	let [r, i] = [e(Math.min(t, n)), e(Math.max(t, n))];
	return {
		left: `${r}%`,
		width: `${i - r}%`
	};
}
// src/components/Attribution.tsx
function Fn({ block: e }) {
	let t = Nn(e.rows);
	return /* @__PURE__ */ H("figure", {
		class: "attribution",
		children: [/* @__PURE__ */ H(An, { title: e.title }), /* @__PURE__ */ H("table", { children: [
			/* @__PURE__ */ H("thead", { children: /* @__PURE__ */ H("tr", { children: [
				/* @__PURE__ */ H("th", {
					scope: "col",
					children: "part"
				}),
				/* @__PURE__ */ H("th", {
					scope: "col",
					class: "direction",
					children: [/* @__PURE__ */ H("span", { children: "◂ less" }), /* @__PURE__ */ H("span", { children: "more ▸" })]
				}),
				/* @__PURE__ */ H("th", {
					scope: "col",
					class: "number",
					children: "change"
				}),
				/* @__PURE__ */ H("th", {
					scope: "col",
					class: "number sides",
					children: "base → new"
				})
			] }) }),
			/* @__PURE__ */ H("tbody", { children: e.rows.map((n) => /* @__PURE__ */ H(In, {
				row: n,
				block: e,
				scale: t
			}, n.id)) }),
			/* @__PURE__ */ H("tfoot", { children: /* @__PURE__ */ H("tr", { children: [
				/* @__PURE__ */ H("th", {
					scope: "row",
					children: "all"
				}),
				/* @__PURE__ */ H("td", {}),
				/* @__PURE__ */ H("td", {
					class: "number",
					children: yn(e.kind, e.change)
				}),
				/* @__PURE__ */ H("td", { class: "sides" })
			] }) })
		] })]
	});
}
function In(e) {
	let { row: t, block: n, scale: r } = e, { kind: i } = n, a = t.low === null || t.high === null ? "" : `, between ${yn(i, t.low)} and ${yn(i, t.high)}`, o = t.sure ? "" : ", within the noise", s = `${t.name}: ${yn(i, t.change)}${a}${o}. ${t.help}`;
	return /* @__PURE__ */ H("tr", {
		class: t.sure ? "" : "unsure",
		title: s,
		children: [
			/* @__PURE__ */ H("th", {
				scope: "row",
				children: t.name
			}),
			/* @__PURE__ */ H("td", {
				class: "bar",
				children: [
					/* @__PURE__ */ H("div", {
						class: "zero",
						style: { left: `${r(0)}%` }
					}),
					/* @__PURE__ */ H("div", {
						class: `fill ${t.change < 0 ? "less" : "more"}`,
						style: Pn(r, 0, t.change)
					}),
					t.low !== null && t.high !== null && /* @__PURE__ */ H("div", {
						class: "whisker",
						style: Pn(r, t.low, t.high)
					})
				]
			}),
			/* @__PURE__ */ H("td", {
				class: "number",
				children: [!t.sure && /* @__PURE__ */ H("span", {
					class: "noise",
					children: "noise "
				}), yn(i, t.change)]
			}),
			/* @__PURE__ */ H("td", {
				class: "number sides",
				children: [
					J(i, t.base),
					" → ",
					J(i, t.new)
				]
			})
		]
	});
}
// src/components/table/names.ts
var Ln = 28, Rn = {
	least: 6,
	most: 12
};
function zn(e) {
	return e.length > Ln;
}
function Bn(e) {
	if (!zn(e)) return [e, ""];
	let t = e.length - Rn.most, n = e.length - Rn.least, r = e.slice(t, n).search(/[^A-Za-z0-9]/), i = r < 0 ? n : t + r;
	return [e.slice(0, i), e.slice(i)];
}
function Vn(e) {
	return e ? { "--tail": `${e.length + .5}ch` } : void 0;
}
// src/components/CardParts.tsx
function Hn({ text: e }) {
	return e ? /* @__PURE__ */ H("p", {
		class: "advice",
		children: [/* @__PURE__ */ H(U, { name: "advice" }), /* @__PURE__ */ H("span", { children: [/* @__PURE__ */ H("span", {
			class: "visually-hidden",
			children: "Advice: "
		}), /* @__PURE__ */ H(K, { text: e })] })]
	}) : null;
}
function Un({ lines: e, links: t }) {
	return !e.length && !t.length ? null : /* @__PURE__ */ H("details", {
		class: "evidence",
		children: [
			/* @__PURE__ */ H("summary", { children: [/* @__PURE__ */ H(U, {
				name: "down",
				size: 12
			}), "Evidence"] }),
			e.length > 0 && /* @__PURE__ */ H("ul", { children: e.map((e) => /* @__PURE__ */ H("li", { children: e }, e)) }),
			/* @__PURE__ */ H(Wn, { links: t })
		]
	});
}
function Wn({ links: e }) {
	let { hrefOfLink: t } = Me(dn);
	return e.length ? /* @__PURE__ */ H("ul", {
		class: "links",
		children: e.map((e) => {
			let n = t(e), [r, i] = Bn(e.label), a = /* @__PURE__ */ H("span", {
				class: "name",
				title: e.label,
				style: Vn(i),
				children: [/* @__PURE__ */ H("span", {
					class: "head",
					children: r
				}), i]
			});
			return /* @__PURE__ */ H("li", { children: n ? /* @__PURE__ */ H("a", {
				href: n,
				children: a
			}) : a }, `${e.section} ${e.search} ${e.label} ${e.from_ns}`);
		})
	}) : null;
}
function Gn({ share: e, words: t }) {
	return /* @__PURE__ */ H("span", {
		class: "share-bar",
		children: [/* @__PURE__ */ H("span", {
			class: "meter",
			"aria-hidden": "true",
			children: /* @__PURE__ */ H("span", { style: { width: `${100 * Math.min(Math.max(e, 0), 1)}%` } })
		}), t]
	});
}
// src/components/Causes.tsx
function Kn({ block: e }) {
	return e.items.length ? /* @__PURE__ */ H("ol", {
		class: "cards",
		children: e.items.map((e, t) => /* @__PURE__ */ H(qn, { item: e }, `${e.cause} ${t}`))
	}) : /* @__PURE__ */ H("p", {
		class: "note tone-notice",
		children: [/* @__PURE__ */ H(U, { name: "notice" }), /* @__PURE__ */ H("span", { children: e.empty })]
	});
}
function qn({ item: e }) {
	let t = e.role === "cause" ? "bad" : "warning";
	return /* @__PURE__ */ H("li", {
		class: `card tone-${t}`,
		children: [
			/* @__PURE__ */ H("p", {
				class: "kicker",
				children: [
					/* @__PURE__ */ H(U, {
						name: ut(t),
						size: 14
					}),
					/* @__PURE__ */ H("span", {
						class: "badge",
						children: e.role
					}),
					e.explained !== null && /* @__PURE__ */ H("span", {
						class: "gain",
						children: yn(e.kind, e.explained)
					}),
					e.share !== null && /* @__PURE__ */ H(Gn, {
						share: e.share,
						words: `${J("share", e.share)} ${e.share_word}`
					})
				]
			}),
			/* @__PURE__ */ H("h3", { children: [
				e.title,
				" ",
				/* @__PURE__ */ H("code", {
					class: "quiet",
					children: e.cause
				})
			] }),
			/* @__PURE__ */ H("p", { children: /* @__PURE__ */ H(K, { text: e.sentence }) }),
			/* @__PURE__ */ H(Hn, { text: e.advice }),
			/* @__PURE__ */ H(Un, {
				lines: e.evidence,
				links: e.links
			})
		]
	});
}
// node_modules/uplot/dist/uPlot.esm.js
var Jn = !0, Yn = "uplot", Xn = "u-hz", Zn = "u-vt", Qn = "u-title", $n = "u-wrap", er = "u-under", tr = "u-over", nr = "u-axis", rr = "u-off", ir = "u-select", ar = "u-cursor-x", or = "u-cursor-y", sr = "u-cursor-pt", cr = "u-legend", lr = "u-live", ur = "u-inline", dr = "u-series", fr = "u-marker", pr = "u-label", mr = "u-value", hr = "width", gr = "height", _r = "top", vr = "bottom", yr = "left", br = "right", xr = "#000", Sr = "#0000", Cr = "mousemove", wr = "mousedown", Tr = "mouseup", Er = "mouseenter", Dr = "mouseleave", Or = "dblclick", kr = "resize", Ar = "scroll", jr = "change", Mr = "dppxchange", Nr = "--", Pr = typeof window < "u", Fr = Pr ? document : null, Ir = Pr ? window : null, Lr = Pr ? navigator : null, Y, Rr;
function zr() {
	let e = devicePixelRatio;
	Y != e && (Y = e, Rr && ei(jr, Rr, zr), Rr = matchMedia(`(min-resolution: ${Y - .001}dppx) and (max-resolution: ${Y + .001}dppx)`), $r(jr, Rr, zr), Ir.dispatchEvent(new CustomEvent(Mr)));
}
function Br(e, t) {
	if (t != null) {
		let n = e.classList;
		!n.contains(t) && n.add(t);
	}
}
function Vr(e, t) {
	let n = e.classList;
	n.contains(t) && n.remove(t);
}
function Hr(e, t, n) {
	e.style[t] = n + "px";
}
function Ur(e, t, n, r) {
	let i = Fr.createElement(e);
	return t != null && Br(i, t), n?.insertBefore(i, r), i;
}
function Wr(e, t) {
	return Ur("div", e, t);
}
var Gr = /* @__PURE__ */ new WeakMap();
function Kr(e, t, n, r, i) {
	let a = "translate(" + t + "px," + n + "px)";
	a != Gr.get(e) && (e.style.transform = a, Gr.set(e, a), t < 0 || n < 0 || t > r || n > i ? Br(e, rr) : Vr(e, rr));
}
var qr = /* @__PURE__ */ new WeakMap();
function Jr(e, t, n) {
	let r = t + n;
	r != qr.get(e) && (qr.set(e, r), e.style.background = t, e.style.borderColor = n);
}
var Yr = /* @__PURE__ */ new WeakMap();
function Xr(e, t, n, r) {
	let i = t + "" + n;
	i != Yr.get(e) && (Yr.set(e, i), e.style.height = n + "px", e.style.width = t + "px", e.style.marginLeft = r ? -t / 2 + "px" : 0, e.style.marginTop = r ? -n / 2 + "px" : 0);
}
var Zr = { passive: !0 }, Qr = {
	...Zr,
	capture: !0
};
function $r(e, t, n, r) {
	t.addEventListener(e, n, r ? Qr : Zr);
}
function ei(e, t, n, r) {
	t.removeEventListener(e, n, Zr);
}
Pr && zr();
function ti(e, t, n, r) {
	let i;
	n ||= 0, r ||= t.length - 1;
	let a = r <= 2147483647;
	for (; r - n > 1;) i = a ? n + r >> 1 : Si((n + r) / 2), t[i] < e ? n = i : r = i;
	return e - t[n] <= t[r] - e ? n : r;
}
function ni(e) {
	return (t, n, r) => {
		let i = -1, a = -1;
		for (let a = n; a <= r; a++) if (e(t[a])) {
			i = a;
			break;
		}
		for (let i = r; i >= n; i--) if (e(t[i])) {
			a = i;
			break;
		}
		return [i, a];
	};
}
var ri = (e) => e != null, ii = (e) => e != null && e > 0, ai = ni(ri), oi = ni(ii);
function si(e, t, n, r = 0, i = !1) {
	let a = i ? oi : ai, o = i ? ii : ri;
	[t, n] = a(e, t, n);
	let s = e[t], c = e[t];
	if (t > -1) {
		if (r == 1) s = e[t], c = e[n];
		else if (r == -1) s = e[n], c = e[t];
		else for (let r = t; r <= n; r++) {
			let t = e[r];
			o(t) && (t < s ? s = t : t > c && (c = t));
		}
	}
	return [s ?? Ni, c ?? -Ni];
}
function ci(e, t, n, r) {
	let i = Oi(e), a = Oi(t);
	e == t && (i == -1 ? (e *= n, t /= n) : (e /= n, t *= n));
	let o = n == 10 ? ki : Ai, s = i == 1 ? Si : wi, c = a == 1 ? wi : Si, l = s(o(xi(e))), u = c(o(xi(t))), d = Di(n, l), f = Di(n, u);
	return n == 10 && (l < 0 && (d = Q(d, -l)), u < 0 && (f = Q(f, -u))), r || n == 2 ? (e = d * i, t = f * a) : (e = qi(e, d), t = Ki(t, f)), [e, t];
}
function li(e, t, n, r) {
	let i = ci(e, t, n, r);
	return e == 0 && (i[0] = 0), t == 0 && (i[1] = 0), i;
}
var ui = .1, di = {
	mode: 3,
	pad: ui
}, fi = {
	pad: 0,
	soft: null,
	mode: 0
}, pi = {
	min: fi,
	max: fi
};
function mi(e, t, n, r) {
	return ia(n) ? gi(e, t, n) : (fi.pad = n, fi.soft = r ? 0 : null, fi.mode = r ? 3 : 0, gi(e, t, pi));
}
function X(e, t) {
	return e ?? t;
}
function hi(e, t, n) {
	for (t = X(t, 0), n = X(n, e.length - 1); t <= n;) {
		if (e[t] != null) return !0;
		t++;
	}
	return !1;
}
function gi(e, t, n) {
	let r = n.min, i = n.max, a = X(r.pad, 0), o = X(i.pad, 0), s = X(r.hard, -Ni), c = X(i.hard, Ni), l = X(r.soft, Ni), u = X(i.soft, -Ni), d = X(r.mode, 0), f = X(i.mode, 0), p = t - e, m = ki(p), h = Ei(xi(e), xi(t)), g = xi(ki(h) - m);
	(p < 1e-24 || g > 10) && (p = 0, (e == 0 || t == 0) && (p = 1e-24, d == 2 && l != Ni && (a = 0), f == 2 && u != -Ni && (o = 0)));
	let _ = p || h || 1e3, v = Di(10, Si(ki(_))), y = Q(qi(e - _ * (p == 0 ? e == 0 ? .1 : 1 : a), v / 10), 24), b = e >= l && (d == 1 || d == 3 && y <= l || d == 2 && y >= l) ? l : Ni, x = Ei(s, y < b && e >= b ? b : Ti(b, y)), S = Q(Ki(t + _ * (p == 0 ? t == 0 ? .1 : 1 : o), v / 10), 24), C = t <= u && (f == 1 || f == 3 && S >= u || f == 2 && S <= u) ? u : -Ni, w = Ti(c, S > C && t <= C ? C : Ei(C, S));
	return x == w && x == 0 && (w = 100), [x, w];
}
var _i = new Intl.NumberFormat(Pr ? Lr.language : "en-US"), vi = (e) => _i.format(e), yi = Math, bi = yi.PI, xi = yi.abs, Si = yi.floor, Ci = yi.round, wi = yi.ceil, Ti = yi.min, Ei = yi.max, Di = yi.pow, Oi = yi.sign, ki = yi.log10, Ai = yi.log2, ji = (e, t = 1) => yi.sinh(e) * t, Mi = (e, t = 1) => yi.asinh(e / t), Ni = Infinity;
function Pi(e) {
	return (ki((e ^ e >> 31) - (e >> 31)) | 0) + 1;
}
function Fi(e, t, n) {
	return Ti(Ei(e, t), n);
}
function Ii(e) {
	return typeof e == "function";
}
function Z(e) {
	return Ii(e) ? e : () => e;
}
var Li = () => {}, Ri = (e) => e, zi = (e, t) => t, Bi = (e) => null, Vi = (e) => !0, Hi = (e, t) => e == t, Ui = /\.\d*?(?=9{6,}|0{6,})/gm, Wi = (e) => {
	if (ta(e) || Ji.has(e)) return e;
	let t = `${e}`, n = t.match(Ui);
	if (n == null) return e;
	let r = n[0].length - 1;
	if (t.indexOf("e-") != -1) {
		let [e, n] = t.split("e");
		return +`${Wi(e)}e${n}`;
	}
	return Q(e, r);
};
function Gi(e, t) {
	return Wi(Q(Wi(e / t)) * t);
}
function Ki(e, t) {
	return Wi(wi(Wi(e / t)) * t);
}
function qi(e, t) {
	return Wi(Si(Wi(e / t)) * t);
}
function Q(e, t = 0) {
	if (ta(e)) return e;
	let n = 10 ** t;
	return Ci(e * n * (1 + 2 ** -52)) / n;
}
var Ji = /* @__PURE__ */ new Map();
function Yi(e) {
	return (("" + e).split(".")[1] || "").length;
}
function Xi(e, t, n, r) {
	let i = [], a = r.map(Yi);
	for (let o = t; o < n; o++) {
		let t = xi(o), n = Q(Di(e, o), t);
		for (let s = 0; s < r.length; s++) {
			let c = e == 10 ? +`${r[s]}e${o}` : r[s] * n, l = (o >= 0 ? 0 : t) + (o >= a[s] ? 0 : a[s]), u = e == 10 ? c : Q(c, l);
			i.push(u), Ji.set(u, l);
		}
	}
	return i;
}
var Zi = {}, Qi = [], $i = [null, null], ea = Array.isArray, ta = Number.isInteger, na = (e) => e === void 0;
function ra(e) {
	return typeof e == "string";
}
function ia(e) {
	let t = !1;
	if (e != null) {
		let n = e.constructor;
		t = n == null || n == Object;
	}
	return t;
}
function aa(e) {
	return typeof e == "object" && !!e;
}
var oa = Object.getPrototypeOf(Uint8Array), sa = "__proto__";
function ca(e, t = ia) {
	let n;
	if (ea(e)) {
		let r = e.find((e) => e != null);
		if (ea(r) || t(r)) {
			n = Array(e.length);
			for (let r = 0; r < e.length; r++) n[r] = ca(e[r], t);
		} else n = e.slice();
	} else if (e instanceof oa) n = e.slice();
	else if (t(e)) {
		n = {};
		for (let r in e) r != sa && (n[r] = ca(e[r], t));
	} else n = e;
	return n;
}
function la(e) {
	let t = arguments;
	for (let n = 1; n < t.length; n++) {
		let r = t[n];
		for (let t in r) t != sa && (ia(e[t]) ? la(e[t], ca(r[t])) : e[t] = ca(r[t]));
	}
	return e;
}
var ua = 0, da = 1, fa = 2;
function pa(e, t, n) {
	for (let r = 0, i, a = -1; r < t.length; r++) {
		let o = t[r];
		if (o > a) {
			for (i = o - 1; i >= 0 && e[i] == null;) e[i--] = null;
			for (i = o + 1; i < n && e[i] == null;) e[a = i++] = null;
		}
	}
}
function ma(e, t) {
	if (_a(e)) {
		let t = e[0].slice();
		for (let n = 1; n < e.length; n++) t.push(...e[n].slice(1));
		return va(t[0]) || (t = ga(t)), t;
	}
	let n = /* @__PURE__ */ new Set();
	for (let t = 0; t < e.length; t++) {
		let r = e[t][0], i = r.length;
		for (let e = 0; e < i; e++) n.add(r[e]);
	}
	let r = [Array.from(n).sort((e, t) => e - t)], i = r[0].length, a = /* @__PURE__ */ new Map();
	for (let e = 0; e < i; e++) a.set(r[0][e], e);
	for (let n = 0; n < e.length; n++) {
		let o = e[n], s = o[0];
		for (let e = 1; e < o.length; e++) {
			let c = o[e], l = Array(i).fill(void 0), u = t ? t[n][e] : da, d = [];
			for (let e = 0; e < c.length; e++) {
				let t = c[e], n = a.get(s[e]);
				t === null ? u != ua && (l[n] = t, u == fa && d.push(n)) : l[n] = t;
			}
			pa(l, d, i), r.push(l);
		}
	}
	return r;
}
var ha = typeof queueMicrotask > "u" ? (e) => Promise.resolve().then(e) : queueMicrotask;
function ga(e) {
	let t = e[0], n = t.length, r = Array(n);
	for (let e = 0; e < r.length; e++) r[e] = e;
	r.sort((e, n) => t[e] - t[n]);
	let i = [];
	for (let t = 0; t < e.length; t++) {
		let a = e[t], o = Array(n);
		for (let e = 0; e < n; e++) o[e] = a[r[e]];
		i.push(o);
	}
	return i;
}
function _a(e) {
	let t = e[0][0], n = t.length;
	for (let r = 1; r < e.length; r++) {
		let i = e[r][0];
		if (i.length != n) return !1;
		if (i != t) {
			for (let e = 0; e < n; e++) if (i[e] != t[e]) return !1;
		}
	}
	return !0;
}
function va(e, t = 100) {
	let n = e.length;
	if (n <= 1) return !0;
	let r = 0, i = n - 1;
	for (; r <= i && e[r] == null;) r++;
	for (; i >= r && e[i] == null;) i--;
	if (i <= r) return !0;
	let a = Ei(1, Si((i - r + 1) / t));
	for (let t = e[r], n = r + a; n <= i; n += a) {
		let r = e[n];
		if (r != null) {
			if (r <= t) return !1;
			t = r;
		}
	}
	return !0;
}
var ya = [
	"January",
	"February",
	"March",
	"April",
	"May",
	"June",
	"July",
	"August",
	"September",
	"October",
	"November",
	"December"
], ba = [
	"Sunday",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday"
];
function xa(e) {
	return e.slice(0, 3);
}
var Sa = ba.map(xa), Ca = {
	MMMM: ya,
	MMM: ya.map(xa),
	WWWW: ba,
	WWW: Sa
};
function wa(e) {
	return (e < 10 ? "0" : "") + e;
}
function Ta(e) {
	return (e < 10 ? "00" : e < 100 ? "0" : "") + e;
}
var Ea = {
	YYYY: (e) => e.getFullYear(),
	YY: (e) => (e.getFullYear() + "").slice(2),
	MMMM: (e, t) => t.MMMM[e.getMonth()],
	MMM: (e, t) => t.MMM[e.getMonth()],
	MM: (e) => wa(e.getMonth() + 1),
	M: (e) => e.getMonth() + 1,
	DD: (e) => wa(e.getDate()),
	D: (e) => e.getDate(),
	WWWW: (e, t) => t.WWWW[e.getDay()],
	WWW: (e, t) => t.WWW[e.getDay()],
	HH: (e) => wa(e.getHours()),
	H: (e) => e.getHours(),
	h: (e) => {
		let t = e.getHours();
		return t == 0 ? 12 : t > 12 ? t - 12 : t;
	},
	AA: (e) => e.getHours() >= 12 ? "PM" : "AM",
	aa: (e) => e.getHours() >= 12 ? "pm" : "am",
	a: (e) => e.getHours() >= 12 ? "p" : "a",
	mm: (e) => wa(e.getMinutes()),
	m: (e) => e.getMinutes(),
	ss: (e) => wa(e.getSeconds()),
	s: (e) => e.getSeconds(),
	fff: (e) => Ta(e.getMilliseconds())
};
function Da(e, t) {
	t ||= Ca;
	let n = [], r = /\{([a-z]+)\}|[^{]+/gi, i;
	for (; i = r.exec(e);) n.push(i[0][0] == "{" ? Ea[i[1]] : i[0]);
	return (e) => {
		let r = "";
		for (let i = 0; i < n.length; i++) r += typeof n[i] == "string" ? n[i] : n[i](e, t);
		return r;
	};
}
var Oa = new Intl.DateTimeFormat().resolvedOptions().timeZone;
function ka(e, t) {
	let n;
	return t == "UTC" || t == "Etc/UTC" ? n = /* @__PURE__ */ new Date(+e + e.getTimezoneOffset() * 6e4) : t == Oa ? n = e : (n = new Date(e.toLocaleString("en-US", { timeZone: t })), n.setMilliseconds(e.getMilliseconds())), n;
}
var Aa = (e) => e % 1 == 0, ja = [
	1,
	2,
	2.5,
	5
], Ma = Xi(10, -32, 0, ja), Na = Xi(10, 0, 32, ja), Pa = Na.filter(Aa), Fa = Ma.concat(Na), Ia = "\n", La = "{YYYY}", Ra = Ia + La, za = "{M}/{D}", Ba = Ia + za, Va = Ba + "/{YY}", Ha = "{aa}", Ua = "{h}:{mm}" + Ha, Wa = Ia + Ua, Ga = ":{ss}", $ = null;
function Ka(e) {
	let t = e * 1e3, n = t * 60, r = n * 60, i = r * 24, a = i * 30, o = i * 365, s = (e == 1 ? Xi(10, 0, 3, ja).filter(Aa) : Xi(10, -3, 0, ja)).concat([
		t,
		t * 5,
		t * 10,
		t * 15,
		t * 30,
		n,
		n * 5,
		n * 10,
		n * 15,
		n * 30,
		r,
		r * 2,
		r * 3,
		r * 4,
		r * 6,
		r * 8,
		r * 12,
		i,
		i * 2,
		i * 3,
		i * 4,
		i * 5,
		i * 6,
		i * 7,
		i * 8,
		i * 9,
		i * 10,
		i * 15,
		a,
		a * 2,
		a * 3,
		a * 4,
		a * 6,
		o,
		o * 2,
		o * 5,
		o * 10,
		o * 25,
		o * 50,
		o * 100
	]), c = [
		[
			o,
			La,
			$,
			$,
			$,
			$,
			$,
			$,
			1
		],
		[
			i * 28,
			"{MMM}",
			Ra,
			$,
			$,
			$,
			$,
			$,
			1
		],
		[
			i,
			za,
			Ra,
			$,
			$,
			$,
			$,
			$,
			1
		],
		[
			r,
			"{h}" + Ha,
			Va,
			$,
			Ba,
			$,
			$,
			$,
			1
		],
		[
			n,
			Ua,
			Va,
			$,
			Ba,
			$,
			$,
			$,
			1
		],
		[
			t,
			Ga,
			Va + " " + Ua,
			$,
			Ba + " " + Ua,
			$,
			Wa,
			$,
			1
		],
		[
			e,
			Ga + ".{fff}",
			Va + " " + Ua,
			$,
			Ba + " " + Ua,
			$,
			Wa,
			$,
			1
		]
	];
	function l(t) {
		return (s, c, l, u, d, f) => {
			let p = [], m = d >= o, h = d >= a && d < o, g = t(l), _ = Q(g * e, 3), v = no(g.getFullYear(), m ? 0 : g.getMonth(), h || m ? 1 : g.getDate()), y = Q(v * e, 3);
			if (h || m) {
				let n = h ? d / a : 0, r = m ? d / o : 0, i = _ == y ? _ : Q(no(v.getFullYear() + r, v.getMonth() + n, 1) * e, 3), s = new Date(Ci(i / e)), c = s.getFullYear(), l = s.getMonth();
				for (let a = 0; i <= u; a++) {
					let o = no(c + r * a, l + n * a, 1), s = o - t(Q(o * e, 3));
					i = Q((+o + s) * e, 3), i <= u && p.push(i);
				}
			} else {
				let a = d >= i ? i : d, o = y + (Si(l) - Si(_)) + Ki(_ - y, a);
				p.push(o);
				let m = t(o), h = m.getHours() + m.getMinutes() / n + m.getSeconds() / r, g = d / r, v = f / s.axes[c]._space;
				for (; o = Q(o + d, e == 1 ? 0 : 3), !(o > u);) if (g > 1) {
					let e = Si(Q(h + g, 6)) % 24, n = t(o).getHours() - e;
					n > 1 && (n = -1), o -= n * r, h = (h + g) % 24;
					let i = p[p.length - 1];
					Q((o - i) / d, 3) * v >= .7 && p.push(o);
				} else p.push(o);
			}
			return p;
		};
	}
	return [
		s,
		c,
		l
	];
}
var [qa, Ja, Ya] = Ka(1), [Xa, Za, Qa] = Ka(.001);
Xi(2, -53, 53, [1]);
function $a(e, t) {
	return e.map((e) => e.map((n, r) => r == 0 || r == 8 || n == null ? n : t(r == 1 || e[8] == 0 ? n : e[1] + n)));
}
function eo(e, t) {
	return (n, r, i, a, o) => {
		let s = t.find((e) => o >= e[0]) || t[t.length - 1], c, l, u, d, f, p;
		return r.map((t) => {
			let n = e(t), r = n.getFullYear(), i = n.getMonth(), a = n.getDate(), o = n.getHours(), m = n.getMinutes(), h = n.getSeconds(), g = r != c && s[2] || i != l && s[3] || a != u && s[4] || o != d && s[5] || m != f && s[6] || h != p && s[7] || s[1];
			return c = r, l = i, u = a, d = o, f = m, p = h, g(n);
		});
	};
}
function to(e, t) {
	let n = Da(t);
	return (t, r, i, a, o) => r.map((t) => n(e(t)));
}
function no(e, t, n) {
	return new Date(e, t, n);
}
function ro(e, t) {
	return t(e);
}
var io = "{YYYY}-{MM}-{DD} {h}:{mm}{aa}";
function ao(e, t) {
	return (n, r, i, a) => a == null ? Nr : t(e(r));
}
function oo(e, t) {
	let n = e.series[t];
	return n.width ? n.stroke(e, t) : n.points.width ? n.points.stroke(e, t) : null;
}
function so(e, t) {
	return e.series[t].fill(e, t);
}
var co = {
	show: !0,
	live: !0,
	isolate: !1,
	mount: Li,
	markers: {
		show: !0,
		width: 2,
		stroke: oo,
		fill: so,
		dash: "solid"
	},
	idx: null,
	idxs: null,
	values: []
};
function lo(e, t) {
	let n = e.cursor.points, r = Wr(), i = n.size(e, t);
	Hr(r, hr, i), Hr(r, gr, i);
	let a = i / -2;
	Hr(r, "marginLeft", a), Hr(r, "marginTop", a);
	let o = n.width(e, t, i);
	return o && Hr(r, "borderWidth", o), r;
}
function uo(e, t) {
	let n = e.series[t].points;
	return n._fill || n._stroke;
}
function fo(e, t) {
	let n = e.series[t].points;
	return n._stroke || n._fill;
}
function po(e, t) {
	return e.series[t].points.size;
}
var mo = [0, 0];
function ho(e, t, n) {
	return mo[0] = t, mo[1] = n, mo;
}
function go(e, t, n, r = !0) {
	return (e) => {
		e.button != 0 || r && e.target != t || n(e);
	};
}
function _o(e, t, n, r = !0) {
	return (e) => {
		r && e.target != t || n(e);
	};
}
var vo = {
	show: !0,
	x: !0,
	y: !0,
	lock: !1,
	move: ho,
	points: {
		one: !1,
		show: lo,
		size: po,
		width: 0,
		stroke: fo,
		fill: uo
	},
	bind: {
		mousedown: go,
		mouseup: go,
		click: go,
		dblclick: go,
		mousemove: _o,
		mouseleave: _o,
		mouseenter: _o
	},
	drag: {
		setScale: !0,
		x: !0,
		y: !1,
		dist: 0,
		uni: null,
		click: (e, t) => {
			t.stopPropagation(), t.stopImmediatePropagation();
		},
		_x: !1,
		_y: !1
	},
	focus: {
		dist: (e, t, n, r, i) => r - i,
		prox: -1,
		bias: 0
	},
	hover: {
		skip: [void 0],
		prox: null,
		bias: 0
	},
	left: -10,
	top: -10,
	idx: null,
	dataIdx: null,
	idxs: null,
	event: null
}, yo = {
	show: !0,
	stroke: "rgba(0,0,0,0.07)",
	width: 2
}, bo = la({}, yo, { filter: zi }), xo = la({}, bo, { size: 10 }), So = la({}, yo, { show: !1 }), Co = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, \"Noto Sans\", sans-serif, \"Apple Color Emoji\", \"Segoe UI Emoji\", \"Segoe UI Symbol\", \"Noto Color Emoji\"", wo = "bold " + Co, To = 1.5, Eo = {
	show: !0,
	scale: "x",
	stroke: xr,
	space: 50,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: wo,
	side: 2,
	grid: bo,
	ticks: xo,
	border: So,
	font: Co,
	lineGap: To,
	rotate: 0
}, Do = "Value", Oo = "Time", ko = {
	show: !0,
	scale: "x",
	auto: !1,
	sorted: 1,
	min: Ni,
	max: -Infinity,
	idxs: []
};
function Ao(e, t, n, r, i) {
	return t.map((e) => e == null ? "" : vi(e));
}
function jo(e, t, n, r, i, a, o) {
	let s = [], c = Ji.get(i) || 0;
	n = o ? n : Q(Ki(n, i), c);
	for (let e = n; e <= r; e = Q(e + i, c)) s.push(Object.is(e, -0) ? 0 : e);
	return s;
}
function Mo(e, t, n, r, i, a, o) {
	let s = [], c = e.scales[e.axes[t].scale].log;
	i = Di(c, Si((c == 10 ? ki : Ai)(n))), c == 10 && (i = Fa[ti(i, Fa)]);
	let l = n, u = i * c;
	c == 10 && (u = Fa[ti(u, Fa)]);
	do
		s.push(l), l += i, c == 10 && !Ji.has(l) && (l = Q(l, Ji.get(i))), l >= u && (i = l, u = i * c, c == 10 && (u = Fa[ti(u, Fa)]));
	while (l <= r);
	return s;
}
function No(e, t, n, r, i, a, o) {
	let s = e.scales[e.axes[t].scale].asinh, c = r > s ? Mo(e, t, Ei(s, n), r, i) : [s], l = r >= 0 && n <= 0 ? [0] : [];
	return (n < -s ? Mo(e, t, Ei(s, -r), -n, i) : [s]).reverse().map((e) => -e).concat(l, c);
}
var Po = /./, Fo = /[12357]/, Io = /[125]/, Lo = /1/, Ro = (e, t, n, r) => e.map((e, i) => t == 4 && e == 0 || i % r == 0 && n.test(e.toExponential()[+(e < 0)]) ? e : null);
function zo(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = e.scales[o], c = e.valToPos, l = a._space, u = c(10, o), d = c(9, o) - u >= l ? Po : c(7, o) - u >= l ? Fo : c(5, o) - u >= l ? Io : Lo;
	if (d == Lo) {
		let e = xi(c(1, o) - u);
		if (e < l) return Ro(t.slice().reverse(), s.distr, d, wi(l / e)).reverse();
	}
	return Ro(t, s.distr, d, 1);
}
function Bo(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = a._space, c = e.valToPos, l = xi(c(1, o) - c(2, o));
	return l < s ? Ro(t.slice().reverse(), 3, Po, wi(s / l)).reverse() : t;
}
function Vo(e, t, n, r) {
	return r == null ? Nr : t == null ? "" : vi(t);
}
var Ho = {
	show: !0,
	scale: "y",
	stroke: xr,
	space: 30,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: wo,
	side: 3,
	grid: bo,
	ticks: xo,
	border: So,
	font: Co,
	lineGap: To,
	rotate: 0
};
function Uo(e, t) {
	return Q((3 + (e || 1) * 2) * t, 3);
}
function Wo(e, t) {
	let { scale: n, idxs: r } = e.series[0], i = e._data[0], a = e.valToPos(i[r[0]], n, !0), o = xi(e.valToPos(i[r[1]], n, !0) - a) / (e.series[t].points.space * Y);
	return r[1] - r[0] <= o;
}
var Go = {
	scale: null,
	auto: !0,
	sorted: 0,
	min: Ni,
	max: -Infinity
}, Ko = (e, t, n, r, i) => i, qo = {
	show: !0,
	auto: !0,
	sorted: 0,
	gaps: Ko,
	alpha: 1,
	facets: [la({}, Go, { scale: "x" }), la({}, Go, { scale: "y" })]
}, Jo = {
	scale: "y",
	auto: !0,
	sorted: 0,
	show: !0,
	spanGaps: !1,
	gaps: Ko,
	alpha: 1,
	points: {
		show: Wo,
		filter: null
	},
	values: null,
	min: Ni,
	max: -Infinity,
	idxs: [],
	path: null,
	clip: null
};
function Yo(e, t, n, r, i) {
	return n / 10;
}
var Xo = {
	time: Jn,
	auto: !0,
	distr: 1,
	log: 10,
	asinh: 1,
	min: null,
	max: null,
	dir: 1,
	ori: 0
}, Zo = la({}, Xo, {
	time: !1,
	ori: 1
}), Qo = {};
function $o(e, t) {
	let n = Qo[e];
	return n || (n = {
		key: e,
		plots: [],
		sub(e) {
			n.plots.push(e);
		},
		unsub(e) {
			n.plots = n.plots.filter((t) => t != e);
		},
		pub(e, t, r, i, a, o, s) {
			for (let c = 0; c < n.plots.length; c++) n.plots[c] != t && n.plots[c].pub(e, t, r, i, a, o, s);
		}
	}, e != null && (Qo[e] = n)), n;
}
var es = 1, ts = 2;
function ns(e, t, n) {
	let r = e.mode, i = e.series[t], a = r == 2 ? e._data[t] : e._data, o = e.scales, s = e.bbox, c = a[0], l = r == 2 ? a[1] : a[t], u = r == 2 ? o[i.facets[0].scale] : o[e.series[0].scale], d = r == 2 ? o[i.facets[1].scale] : o[i.scale], f = s.left, p = s.top, m = s.width, h = s.height, g = e.valToPosH, _ = e.valToPosV;
	return u.ori == 0 ? n(i, c, l, u, d, g, _, f, p, m, h, ds, ps, hs, _s, ys) : n(i, c, l, u, d, _, g, p, f, h, m, fs, ms, gs, vs, bs);
}
function rs(e, t) {
	let n = 0, r = 0, i = X(e.bands, Qi);
	for (let e = 0; e < i.length; e++) {
		let a = i[e];
		a.series[0] == t ? n = a.dir : a.series[1] == t && (a.dir == 1 ? r |= 1 : r |= 2);
	}
	return [n, r == 1 ? -1 : r == 2 ? 1 : r == 3 ? 2 : 0];
}
function is(e, t, n, r, i) {
	let a = e.mode, o = e.series[t], s = a == 2 ? o.facets[1].scale : o.scale, c = e.scales[s];
	return i == -1 ? c.min : i == 1 ? c.max : c.distr == 3 ? c.dir == 1 ? c.min : c.max : 0;
}
function as(e, t, n, r, i, a) {
	return ns(e, t, (e, t, o, s, c, l, u, d, f, p, m) => {
		let h = e.pxRound, g = s.dir * (s.ori == 0 ? 1 : -1), _ = s.ori == 0 ? ps : ms, v, y;
		g == 1 ? (v = n, y = r) : (v = r, y = n);
		let b = h(l(t[v], s, p, d)), x = h(u(o[v], c, m, f)), S = h(l(t[y], s, p, d)), C = h(u(a == 1 ? c.max : c.min, c, m, f)), w = new Path2D(i);
		return _(w, S, C), _(w, b, C), _(w, b, x), w;
	});
}
function os(e, t, n, r, i, a) {
	let o = null;
	if (e.length > 0) {
		o = new Path2D();
		let s = t == 0 ? hs : gs, c = n;
		for (let t = 0; t < e.length; t++) {
			let n = e[t];
			if (n[1] > n[0]) {
				let e = n[0] - c;
				e > 0 && s(o, c, r, e, r + a), c = n[1];
			}
		}
		let l = n + i - c;
		l > 0 && s(o, c, r - 5, l, r + a + 10);
	}
	return o;
}
function ss(e, t, n) {
	let r = e[e.length - 1];
	r && r[0] == t ? r[1] = n : e.push([t, n]);
}
function cs(e, t, n, r, i, a, o) {
	let s = [], c = e.length;
	for (let l = i == 1 ? n : r; l >= n && l <= r; l += i) if (t[l] === null) {
		let u = l, d = l;
		if (i == 1) for (; ++l <= r && t[l] === null;) d = l;
		else for (; --l >= n && t[l] === null;) d = l;
		let f = a(e[u]), p = d == u ? f : a(e[d]), m = u - i;
		f = o <= 0 && m >= 0 && m < c ? a(e[m]) : f;
		let h = d + i;
		p = o >= 0 && h >= 0 && h < c ? a(e[h]) : p, p >= f && s.push([f, p]);
	}
	return s;
}
function ls(e) {
	return e == 0 ? Ri : e == 1 ? Ci : (t) => Gi(t, e);
}
function us(e) {
	let t = e == 0 ? ds : fs, n = e == 0 ? (e, t, n, r, i, a) => {
		e.arcTo(t, n, r, i, a);
	} : (e, t, n, r, i, a) => {
		e.arcTo(n, t, i, r, a);
	}, r = e == 0 ? (e, t, n, r, i) => {
		e.rect(t, n, r, i);
	} : (e, t, n, r, i) => {
		e.rect(n, t, i, r);
	};
	return (e, i, a, o, s, c = 0, l = 0) => {
		c == 0 && l == 0 ? r(e, i, a, o, s) : (c = Ti(c, o / 2, s / 2), l = Ti(l, o / 2, s / 2), t(e, i + c, a), n(e, i + o, a, i + o, a + s, c), n(e, i + o, a + s, i, a + s, l), n(e, i, a + s, i, a, l), n(e, i, a, i + o, a, c), e.closePath());
	};
}
var ds = (e, t, n) => {
	e.moveTo(t, n);
}, fs = (e, t, n) => {
	e.moveTo(n, t);
}, ps = (e, t, n) => {
	e.lineTo(t, n);
}, ms = (e, t, n) => {
	e.lineTo(n, t);
}, hs = us(0), gs = us(1), _s = (e, t, n, r, i, a) => {
	e.arc(t, n, r, i, a);
}, vs = (e, t, n, r, i, a) => {
	e.arc(n, t, r, i, a);
}, ys = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(t, n, r, i, a, o);
}, bs = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(n, t, i, r, o, a);
};
function xs(e) {
	return (e, t, n, r, i) => ns(e, t, (t, a, o, s, c, l, u, d, f, p, m) => {
		let { pxRound: h, points: g } = t, _, v;
		s.ori == 0 ? (_ = ds, v = _s) : (_ = fs, v = vs);
		let y = Q(g.width * Y, 3), b = (g.size - g.width) / 2 * Y, x = Q(b * 2, 3), S = new Path2D(), C = new Path2D(), { left: w, top: T, width: E, height: D } = e.bbox;
		hs(C, w - x, T - x, E + x * 2, D + x * 2);
		let O = (e) => {
			if (o[e] != null) {
				let t = h(l(a[e], s, p, d)), n = h(u(o[e], c, m, f));
				_(S, t + b, n), v(S, t, n, b, 0, bi * 2);
			}
		};
		if (i) i.forEach(O);
		else for (let e = n; e <= r; e++) O(e);
		return {
			stroke: y > 0 ? S : null,
			fill: S,
			clip: C,
			flags: 3
		};
	});
}
function Ss(e) {
	return (t, n, r, i, a, o) => {
		r != i && (a != r && o != r && e(t, n, r), a != i && o != i && e(t, n, i), e(t, n, o));
	};
}
var Cs = Ss(ps), ws = Ss(ms);
function Ts(e) {
	let t = X(e?.alignGaps, 0);
	return (e, n, r, i) => ns(e, n, (a, o, s, c, l, u, d, f, p, m, h) => {
		[r, i] = ai(s, r, i);
		let g = a.pxRound, _ = (e) => g(u(e, c, m, f)), v = (e) => g(d(e, l, h, p)), y, b;
		c.ori == 0 ? (y = ps, b = Cs) : (y = ms, b = ws);
		let x = c.dir * (c.ori == 0 ? 1 : -1), S = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: es
		}, C = S.stroke, w = !1;
		if (i - r >= m * 4) {
			let t = (t) => e.posToVal(t, c.key, !0), n = null, a = null, l, u, d, f = _(o[x == 1 ? r : i]), p = _(o[r]), m = _(o[i]), h = t(x == 1 ? p + 1 : m - 1);
			for (let e = x == 1 ? r : i; e >= r && e <= i; e += x) {
				let r = o[e], i = (x == 1 ? r < h : r > h) ? f : _(r), c = s[e];
				i == f ? c == null ? c === null && (w = !0) : (u = c, n == null ? (y(C, i, v(u)), l = n = a = u) : u < n ? n = u : u > a && (a = u)) : (n != null && b(C, f, v(n), v(a), v(l), v(u)), c == null ? (n = a = null, c === null && (w = !0)) : (u = c, y(C, i, v(u)), n = a = l = u), f = i, h = t(f + x));
			}
			n != null && n != a && d != f && b(C, f, v(n), v(a), v(l), v(u));
		} else for (let e = x == 1 ? r : i; e >= r && e <= i; e += x) {
			let t = s[e];
			t === null ? w = !0 : t != null && y(C, _(o[e]), v(t));
		}
		let [T, E] = rs(e, n);
		if (a.fill != null || T != 0) {
			let t = S.fill = new Path2D(C), s = v(a.fillTo(e, n, a.min, a.max, T)), c = _(o[r]), l = _(o[i]);
			x == -1 && ([l, c] = [c, l]), y(t, l, s), y(t, c, s);
		}
		if (!a.spanGaps) {
			let l = [];
			w && l.push(...cs(o, s, r, i, x, _, t)), S.gaps = l = a.gaps(e, n, r, i, l), S.clip = os(l, c.ori, f, p, m, h);
		}
		return E != 0 && (S.band = E == 2 ? [as(e, n, r, i, C, -1), as(e, n, r, i, C, 1)] : as(e, n, r, i, C, E)), S;
	});
}
function Es(e) {
	let t = X(e.align, 1), n = X(e.ascDesc, !1), r = X(e.alignGaps, 0), i = X(e.extend, !1);
	return (e, a, o, s) => ns(e, a, (c, l, u, d, f, p, m, h, g, _, v) => {
		[o, s] = ai(u, o, s);
		let y = c.pxRound, { left: b, width: x } = e.bbox, S = (e) => y(p(e, d, _, h)), C = (e) => y(m(e, f, v, g)), w = d.ori == 0 ? ps : ms, T = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: es
		}, E = T.stroke, D = d.dir * (d.ori == 0 ? 1 : -1), O = C(u[D == 1 ? o : s]), k = S(l[D == 1 ? o : s]), A = k, j = k;
		i && t == -1 && (j = b, w(E, j, O)), w(E, k, O);
		for (let e = D == 1 ? o : s; e >= o && e <= s; e += D) {
			let n = u[e];
			if (n == null) continue;
			let r = S(l[e]), i = C(n);
			t == 1 ? w(E, r, O) : w(E, A, i), w(E, r, i), O = i, A = r;
		}
		let M = A;
		i && t == 1 && (M = b + x, w(E, M, O));
		let [ee, te] = rs(e, a);
		if (c.fill != null || ee != 0) {
			let t = T.fill = new Path2D(E), n = C(c.fillTo(e, a, c.min, c.max, ee));
			w(t, M, n), w(t, j, n);
		}
		if (!c.spanGaps) {
			let i = [];
			i.push(...cs(l, u, o, s, D, S, r));
			let f = c.width * Y / 2, p = n || t == 1 ? f : -f, m = n || t == -1 ? -f : f;
			i.forEach((e) => {
				e[0] += p, e[1] += m;
			}), T.gaps = i = c.gaps(e, a, o, s, i), T.clip = os(i, d.ori, h, g, _, v);
		}
		return te != 0 && (T.band = te == 2 ? [as(e, a, o, s, E, -1), as(e, a, o, s, E, 1)] : as(e, a, o, s, E, te)), T;
	});
}
function Ds(e, t, n, r, i, a, o = Ni) {
	if (e.length > 1) {
		let s = null;
		for (let c = 0, l = Infinity; c < e.length; c++) if (t[c] !== void 0) {
			if (s != null) {
				let t = xi(e[c] - e[s]);
				t < l && (l = t, o = xi(n(e[c], r, i, a) - n(e[s], r, i, a)));
			}
			s = c;
		}
	}
	return o;
}
function Os(e) {
	e ||= Zi;
	let t = X(e.size, [
		.6,
		Ni,
		1
	]), n = e.align || 0, r = e.gap || 0, i = e.radius;
	i = i == null ? [0, 0] : typeof i == "number" ? [i, 0] : i;
	let a = Z(i), o = 1 - t[0], s = X(t[1], Ni), c = X(t[2], 1), l = X(e.disp, Zi), u = X(e.each, (e) => {}), { fill: d, stroke: f } = l;
	return (e, t, i, p) => ns(e, t, (m, h, g, _, v, y, b, x, S, C, w) => {
		let T = m.pxRound, E = n, D = r * Y, O = s * Y, k = c * Y, A, j;
		_.ori == 0 ? [A, j] = a(e, t) : [j, A] = a(e, t);
		let M = _.dir * (_.ori == 0 ? 1 : -1), ee = _.ori == 0 ? hs : gs, te = _.ori == 0 ? u : (e, t, n, r, i, a, o) => {
			u(e, t, n, i, r, o, a);
		}, ne = X(e.bands, Qi).find((e) => e.series[0] == t), re = ne == null ? 0 : ne.dir, ie = m.fillTo(e, t, m.min, m.max, re), N = T(b(ie, v, w, S)), P, ae, oe, F = C, I = T(m.width * Y), se = !1, ce = null, le = null, ue = null, de = null;
		d != null && (I == 0 || f != null) && (se = !0, ce = d.values(e, t, i, p), le = /* @__PURE__ */ new Map(), new Set(ce).forEach((e) => {
			e != null && le.set(e, new Path2D());
		}), I > 0 && (ue = f.values(e, t, i, p), de = /* @__PURE__ */ new Map(), new Set(ue).forEach((e) => {
			e != null && de.set(e, new Path2D());
		})));
		let { x0: fe, size: pe } = l;
		if (fe != null && pe != null) {
			E = 1, h = fe.values(e, t, i, p), fe.unit == 2 && (h = h.map((t) => e.posToVal(x + t * C, _.key, !0)));
			let n = pe.values(e, t, i, p);
			ae = pe.unit == 2 ? n[0] * C : y(n[0], _, C, x) - y(0, _, C, x), F = Ds(h, g, y, _, C, x, F), oe = F - ae + D;
		} else F = Ds(h, g, y, _, C, x, F), oe = F * o + D, ae = F - oe;
		oe < 1 && (oe = 0), I >= ae / 2 && (I = 0), oe < 5 && (T = Ri);
		let me = oe > 0, he = F - oe - (me ? I : 0);
		ae = T(Fi(he, k, O)), P = (E == 0 ? ae / 2 : E == M ? 0 : ae) - E * M * ((E == 0 ? D / 2 : 0) + (me ? I / 2 : 0));
		let ge = {
			stroke: null,
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: 0
		}, _e = se ? null : new Path2D(), ve = null;
		if (ne != null) ve = e.data[ne.series[1]];
		else {
			let { y0: n, y1: r } = l;
			n != null && r != null && (g = r.values(e, t, i, p), ve = n.values(e, t, i, p));
		}
		let ye = A * ae, be = j * ae;
		for (let n = M == 1 ? i : p; n >= i && n <= p; n += M) {
			let r = g[n];
			if (r == null) continue;
			if (ve != null) {
				let e = ve[n] ?? 0;
				if (r - e == 0) continue;
				N = b(e, v, w, S);
			}
			let i = y(_.distr != 2 || l != null ? h[n] : n, _, C, x), a = b(X(r, ie), v, w, S), o = T(i - P), s = T(Ei(a, N)), c = T(Ti(a, N)), u = s - c;
			if (r != null) {
				let i = r < 0 ? be : ye, a = r < 0 ? ye : be;
				se ? (I > 0 && ue[n] != null && ee(de.get(ue[n]), o, c + Si(I / 2), ae, Ei(0, u - I), i, a), ce[n] != null && ee(le.get(ce[n]), o, c + Si(I / 2), ae, Ei(0, u - I), i, a)) : ee(_e, o, c + Si(I / 2), ae, Ei(0, u - I), i, a), te(e, t, n, o - I / 2, c, ae + I, u);
			}
		}
		return I > 0 ? ge.stroke = se ? de : _e : se || (ge._fill = m.width == 0 ? m._fill : m._stroke ?? m._fill, ge.width = 0), ge.fill = se ? le : _e, ge;
	});
}
function ks(e, t) {
	let n = X(t?.alignGaps, 0);
	return (t, r, i, a) => ns(t, r, (o, s, c, l, u, d, f, p, m, h, g) => {
		[i, a] = ai(c, i, a);
		let _ = o.pxRound, v = (e) => _(d(e, l, h, p)), y = (e) => _(f(e, u, g, m)), b, x, S;
		l.ori == 0 ? (b = ds, S = ps, x = ys) : (b = fs, S = ms, x = bs);
		let C = l.dir * (l.ori == 0 ? 1 : -1), w = v(s[C == 1 ? i : a]), T = w, E = [], D = [];
		for (let e = C == 1 ? i : a; e >= i && e <= a; e += C) if (c[e] != null) {
			let t = s[e], n = v(t);
			E.push(T = n), D.push(y(c[e]));
		}
		let O = {
			stroke: e(E, D, b, S, x, _),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: es
		}, k = O.stroke, [A, j] = rs(t, r);
		if (o.fill != null || A != 0) {
			let e = O.fill = new Path2D(k), n = y(o.fillTo(t, r, o.min, o.max, A));
			S(e, T, n), S(e, w, n);
		}
		if (!o.spanGaps) {
			let e = [];
			e.push(...cs(s, c, i, a, C, v, n)), O.gaps = e = o.gaps(t, r, i, a, e), O.clip = os(e, l.ori, p, m, h, g);
		}
		return j != 0 && (O.band = j == 2 ? [as(t, r, i, a, k, -1), as(t, r, i, a, k, 1)] : as(t, r, i, a, k, j)), O;
	});
}
function As(e) {
	return ks(js, e);
}
function js(e, t, n, r, i, a) {
	let o = e.length;
	if (o < 2) return null;
	let s = new Path2D();
	if (n(s, e[0], t[0]), o == 2) r(s, e[1], t[1]);
	else {
		let n = Array(o), r = Array(o - 1), a = Array(o - 1), c = Array(o - 1);
		for (let n = 0; n < o - 1; n++) a[n] = t[n + 1] - t[n], c[n] = e[n + 1] - e[n], r[n] = a[n] / c[n];
		n[0] = r[0];
		for (let e = 1; e < o - 1; e++) r[e] === 0 || r[e - 1] === 0 || r[e - 1] > 0 != r[e] > 0 ? n[e] = 0 : (n[e] = 3 * (c[e - 1] + c[e]) / ((2 * c[e] + c[e - 1]) / r[e - 1] + (c[e] + 2 * c[e - 1]) / r[e]), isFinite(n[e]) || (n[e] = 0));
		n[o - 1] = r[o - 2];
		for (let r = 0; r < o - 1; r++) i(s, e[r] + c[r] / 3, t[r] + n[r] * c[r] / 3, e[r + 1] - c[r] / 3, t[r + 1] - n[r + 1] * c[r] / 3, e[r + 1], t[r + 1]);
	}
	return s;
}
var Ms = /* @__PURE__ */ new Set();
function Ns() {
	for (let e of Ms) e.syncRect(!0);
}
Pr && ($r(kr, Ir, Ns), $r(Ar, Ir, Ns, !0), $r(Mr, Ir, () => {
	Ys.pxRatio = Y;
}));
var Ps = Ts(), Fs = xs();
function Is(e, t, n, r) {
	return (r ? [e[0], e[1]].concat(e.slice(2)) : [e[0]].concat(e.slice(1))).map((e, r) => Rs(e, r, t, n));
}
function Ls(e, t) {
	return e.map((e, n) => n == 0 ? {} : la({}, t, e));
}
function Rs(e, t, n, r) {
	return la({}, t == 0 ? n : r, e);
}
function zs(e, t, n) {
	return t == null ? $i : [t, n];
}
var Bs = zs;
function Vs(e, t, n) {
	return t == null ? $i : mi(t, n, ui, !0);
}
function Hs(e, t, n, r) {
	return t == null ? $i : ci(t, n, e.scales[r].log, !1);
}
var Us = Hs;
function Ws(e, t, n, r) {
	return t == null ? $i : li(t, n, e.scales[r].log, !1);
}
var Gs = Ws;
function Ks(e, t, n, r, i) {
	let a = Ei(Pi(e), Pi(t)), o = t - e, s = ti(i / r * o, n);
	do {
		let e = n[s], t = r * e / o;
		if (t >= i && a + (e < 5 ? Ji.get(e) : 0) <= 17) return [e, t];
	} while (++s < n.length);
	return [0, 0];
}
function qs(e) {
	let t, n;
	return e = e.replace(/(\d+)px/, (e, r) => (t = Ci((n = +r) * Y)) + "px"), [
		e,
		t,
		n
	];
}
function Js(e) {
	e.show && [e.font, e.labelFont].forEach((e) => {
		let t = Q(e[2] * Y, 1);
		e[0] = e[0].replace(/[0-9.]+px/, t + "px"), e[1] = t;
	});
}
function Ys(e, t, n) {
	let r = { mode: X(e.mode, 1) }, i = r.mode;
	function a(e, t, n, r) {
		let i = t.valToPct(e);
		return r + n * (t.dir == -1 ? 1 - i : i);
	}
	function o(e, t, n, r) {
		let i = t.valToPct(e);
		return r + n * (t.dir == -1 ? i : 1 - i);
	}
	function s(e, t, n, r) {
		return t.ori == 0 ? a(e, t, n, r) : o(e, t, n, r);
	}
	r.valToPosH = a, r.valToPosV = o;
	let c = !1;
	r.status = 0;
	let l = r.root = Wr(Yn);
	if (e.id != null && (l.id = e.id), Br(l, e.class), e.title) {
		let t = Wr(Qn, l);
		t.textContent = e.title;
	}
	let u = Ur("canvas"), d = r.ctx = u.getContext("2d"), f = Wr($n, l);
	$r("click", f, (e) => {
		e.target === m && (W != en || G != tn) && on.click(r, e);
	}, !0);
	let p = r.under = Wr(er, f);
	f.appendChild(u);
	let m = r.over = Wr(tr, f);
	e = ca(e);
	let h = +X(e.pxAlign, 1), g = ls(h);
	(e.plugins || []).forEach((t) => {
		t.opts && (e = t.opts(r, e) || e);
	});
	let _ = e.ms || .001, v = r.series = i == 1 ? Is(e.series || [], ko, Jo, !1) : Ls(e.series || [null], qo), y = r.axes = Is(e.axes || [], Eo, Ho, !0), b = r.scales = {}, x = r.bands = e.bands || [];
	x.forEach((e) => {
		e.fill = Z(e.fill || null), e.dir = X(e.dir, -1);
	});
	let S = i == 2 ? v[1].facets[0].scale : v[0].scale, C = {
		axes: Rt,
		series: Dt
	}, w = (e.drawOrder || ["axes", "series"]).map((e) => C[e]);
	function T(e) {
		let t = e.distr == 3 ? (t) => ki(t > 0 ? t : e.clamp(r, t, e.min, e.max, e.key)) : e.distr == 4 ? (t) => Mi(t, e.asinh) : e.distr == 100 ? (t) => e.fwd(t) : (e) => e;
		return (n) => {
			let r = t(n), { _min: i, _max: a } = e, o = a - i;
			return (r - i) / o;
		};
	}
	function E(t) {
		let n = b[t];
		if (n == null) {
			let r = (e.scales || Zi)[t] || Zi;
			if (r.from != null) {
				E(r.from);
				let e = la({}, b[r.from], r, { key: t });
				e.valToPct = T(e), b[t] = e;
			} else {
				n = b[t] = la({}, t == S ? Xo : Zo, r), n.key = t;
				let e = n.time, a = n.range, o = ea(a);
				if ((t != S || i == 2 && !e) && (o && (a[0] == null || a[1] == null) && (a = {
					min: a[0] == null ? di : {
						mode: 1,
						hard: a[0],
						soft: a[0]
					},
					max: a[1] == null ? di : {
						mode: 1,
						hard: a[1],
						soft: a[1]
					}
				}, o = !1), !o && ia(a))) {
					let e = a;
					a = (t, n, r) => n == null ? $i : mi(n, r, e);
				}
				n.range = Z(a || (e ? Bs : t == S ? n.distr == 3 ? Us : n.distr == 4 ? Gs : zs : n.distr == 3 ? Hs : n.distr == 4 ? Ws : Vs)), n.auto = Z(!o && n.auto), n.clamp = Z(n.clamp || Yo), n._min = n._max = null, n.valToPct = T(n);
			}
		}
	}
	E("x"), E("y"), i == 1 && v.forEach((e) => {
		E(e.scale);
	}), y.forEach((e) => {
		E(e.scale);
	});
	for (let t in e.scales) E(t);
	let D = b[S], O = D.distr, k, A;
	D.ori == 0 ? (Br(l, Xn), k = a, A = o) : (Br(l, Zn), k = o, A = a);
	let j = {};
	for (let e in b) {
		let t = b[e];
		(t.min != null || t.max != null) && (j[e] = {
			min: t.min,
			max: t.max
		}, t.min = t.max = null);
	}
	let M = e.tzDate || ((e) => new Date(Ci(e / _))), ee = e.fmtDate || Da, te = _ == 1 ? Ya(M) : Qa(M), ne = eo(M, $a(_ == 1 ? Ja : Za, ee)), re = ao(M, ro(io, ee)), ie = [], N = r.legend = la({}, co, e.legend), P = r.cursor = la({}, vo, { drag: { y: i == 2 } }, e.cursor), ae = N.show, oe = P.show, F = N.markers;
	N.idxs = ie, F.width = Z(F.width), F.dash = Z(F.dash), F.stroke = Z(F.stroke), F.fill = Z(F.fill);
	let I, se, ce, le = [], ue = [], de, fe = !1, pe = {};
	if (N.live) {
		let e = v[1] ? v[1].values : null;
		fe = e != null, de = fe ? e(r, 1, 0) : { _: 0 };
		for (let e in de) pe[e] = Nr;
	}
	if (ae) {
		if (I = Ur("table", cr, l), ce = Ur("tbody", null, I), N.mount(r, I), fe) {
			se = Ur("thead", null, I, ce);
			let e = Ur("tr", null, se);
			for (var me in Ur("th", null, e), de) Ur("th", pr, e).textContent = me;
		} else Br(I, ur), N.live && Br(I, lr);
	}
	let he = { show: !0 }, ge = { show: !1 };
	function _e(e, t) {
		if (t == 0 && (fe || !N.live || i == 2)) return $i;
		let n = [], a = Ur("tr", dr, ce, ce.childNodes[t]);
		Br(a, e.class), e.show || Br(a, rr);
		let o = Ur("th", null, a);
		if (F.show) {
			let e = Wr(fr, o);
			if (t > 0) {
				let n = F.width(r, t);
				n && (e.style.border = n + "px " + F.dash(r, t) + " " + F.stroke(r, t)), e.style.background = F.fill(r, t);
			}
		}
		let s = Wr(pr, o);
		for (var c in e.label instanceof HTMLElement ? s.appendChild(e.label) : s.textContent = e.label, t > 0 && (F.show || (s.style.color = e.width > 0 ? F.stroke(r, t) : F.fill(r, t)), ye("click", o, (t) => {
			if (P._lock) return;
			He(t);
			let n = v.indexOf(e);
			if ((t.ctrlKey || t.metaKey) != N.isolate) {
				let e = v.some((e, t) => t > 0 && t != n && e.show);
				v.forEach((t, r) => {
					r > 0 && fn(r, e ? r == n ? he : ge : he, !0, kr.setSeries);
				});
			} else fn(n, { show: !e.show }, !0, kr.setSeries);
		}, !1), Ge && ye(Er, o, (t) => {
			P._lock || (He(t), fn(v.indexOf(e), yn, !0, kr.setSeries));
		}, !1)), de) {
			let e = Ur("td", mr, a);
			e.textContent = "--", n.push(e);
		}
		return [a, n];
	}
	let ve = /* @__PURE__ */ new Map();
	function ye(e, t, n, i = !0) {
		let a = ve.get(t) || {}, o = P.bind[e](r, t, n, i);
		o && ($r(e, t, a[e] = o), ve.set(t, a));
	}
	function be(e, t, n) {
		let r = ve.get(t) || {};
		for (let n in r) (e == null || n == e) && (ei(n, t, r[n]), delete r[n]);
		e ?? ve.delete(t);
	}
	let xe = 0, Se = 0, L = 0, R = 0, Ce = 0, we = 0, Te = Ce, Ee = we, De = L, z = R, Oe = 0, B = 0, ke = 0, V = 0;
	r.bbox = {};
	let Ae = !1, je = !1, Me = !1, Ne = !1, Pe = !1, Fe = !1;
	function Ie(e, t, n) {
		(n || e != r.width || t != r.height) && Le(e, t), zt(!1), Me = !0, je = !0, Wt();
	}
	function Le(e, t) {
		r.width = xe = L = e, r.height = Se = R = t, Ce = we = 0, Be(), Ve();
		let n = r.bbox;
		Oe = n.left = Gi(Ce * Y, .5), B = n.top = Gi(we * Y, .5), ke = n.width = Gi(L * Y, .5), V = n.height = Gi(R * Y, .5);
	}
	function Re() {
		let e = !1, t = 0;
		for (; !e;) {
			t++;
			let n = It(t), i = Lt(t);
			e = t == 3 || n && i, e || (Le(r.width, r.height), je = !0);
		}
	}
	function ze({ width: e, height: t }) {
		Ie(e, t);
	}
	r.setSize = ze;
	function Be() {
		let e = !1, t = !1, n = !1, r = !1;
		y.forEach((i, a) => {
			if (i.show && i._show) {
				let { side: a, _size: o } = i, s = a % 2, c = o + (i.label == null ? 0 : i.labelSize);
				c > 0 && (s ? (L -= c, a == 3 ? (Ce += c, r = !0) : n = !0) : (R -= c, a == 0 ? (we += c, e = !0) : t = !0));
			}
		}), et[0] = e, et[1] = n, et[2] = t, et[3] = r, L -= it[1] + it[3], Ce += it[3], R -= it[2] + it[0], we += it[0];
	}
	function Ve() {
		let e = Ce + L, t = we + R, n = Ce, r = we;
		function i(i, a) {
			switch (i) {
				case 1: return e += a, e - a;
				case 2: return t += a, t - a;
				case 3: return n -= a, n + a;
				case 0: return r -= a, r + a;
			}
		}
		y.forEach((e, t) => {
			if (e.show && e._show) {
				let t = e.side;
				e._pos = i(t, e._size), e.label != null && (e._lpos = i(t, e.labelSize));
			}
		});
	}
	if (P.dataIdx == null) {
		let e = P.hover, n = e.skip = new Set(e.skip ?? []);
		n.add(void 0);
		let r = e.prox = Z(e.prox), i = e.bias ??= 0;
		P.dataIdx = (e, a, o, s) => {
			if (a == 0) return o;
			let c = o, l = r(e, a, o, s) ?? Ni, u = l >= 0 && l < Ni, d = D.ori == 0 ? L : R, f = P.left, p = t[0], m = t[a];
			if (n.has(m[o])) {
				c = null;
				let e = null, t = null, r;
				if (i == 0 || i == -1) for (r = o; e == null && r-- > 0;) n.has(m[r]) || (e = r);
				if (i == 0 || i == 1) for (r = o; t == null && r++ < m.length;) n.has(m[r]) || (t = r);
				if (e != null || t != null) {
					if (u) {
						let n = e == null ? -Infinity : k(p[e], D, d, 0), r = t == null ? Infinity : k(p[t], D, d, 0), i = f - n, a = r - f;
						i <= a ? i <= l && (c = e) : a <= l && (c = t);
					} else c = t == null ? e : e == null ? t : o - e <= t - o ? e : t;
				}
			} else u && xi(f - k(p[o], D, d, 0)) > l && (c = null);
			return c;
		};
	}
	let He = (e) => {
		P.event = e;
	};
	P.idxs = ie, P._lock = !1;
	let Ue = P.points;
	Ue.show = Z(Ue.show), Ue.size = Z(Ue.size), Ue.stroke = Z(Ue.stroke), Ue.width = Z(Ue.width), Ue.fill = Z(Ue.fill);
	let We = r.focus = la({}, e.focus || { alpha: .3 }, P.focus), Ge = We.prox >= 0, Ke = Ge && Ue.one, qe = [], Je = [], Ye = [];
	function Xe(e, t) {
		let n = Ue.show(r, t);
		if (n instanceof HTMLElement) return Br(n, sr), Br(n, e.class), Kr(n, -10, -10, L, R), m.insertBefore(n, qe[t]), n;
	}
	function Ze(e, t) {
		if (i == 1 || t > 0) {
			let t = i == 1 && b[e.scale].time, n = e.value;
			e.value = t ? ra(n) ? ao(M, ro(n, ee)) : n || re : n || Vo, e.label = e.label || (t ? Oo : Do);
		}
		if (Ke || t > 0) {
			e.width = e.width == null ? 1 : e.width, e.paths = e.paths || Ps || Bi, e.fillTo = Z(e.fillTo || is), e.pxAlign = +X(e.pxAlign, h), e.pxRound = ls(e.pxAlign), e.stroke = Z(e.stroke || null), e.fill = Z(e.fill || null), e._stroke = e._fill = e._paths = e._focus = null;
			let t = Uo(Ei(1, e.width), 1), n = e.points = la({}, {
				size: t,
				width: Ei(1, t * .2),
				stroke: e.stroke,
				space: t * 2,
				paths: Fs,
				_stroke: null,
				_fill: null
			}, e.points);
			n.show = Z(n.show), n.filter = Z(n.filter), n.fill = Z(n.fill), n.stroke = Z(n.stroke), n.paths = Z(n.paths), n.pxAlign = e.pxAlign;
		}
		if (ae) {
			let n = _e(e, t);
			le.splice(t, 0, n[0]), ue.splice(t, 0, n[1]), N.values.push(null);
		}
		if (oe) {
			ie.splice(t, 0, null);
			let n = null;
			Ke ? t == 0 && (n = Xe(e, t)) : t > 0 && (n = Xe(e, t)), qe.splice(t, 0, n), Je.splice(t, 0, 0), Ye.splice(t, 0, 0);
		}
		Jn("addSeries", t);
	}
	function Qe(e, t) {
		t ??= v.length, e = i == 1 ? Rs(e, t, ko, Jo) : Rs(e, t, {}, qo), v.splice(t, 0, e), Ze(v[t], t);
	}
	r.addSeries = Qe;
	function $e(e) {
		if (v.splice(e, 1), ae) {
			N.values.splice(e, 1), ue.splice(e, 1);
			let t = le.splice(e, 1)[0];
			be(null, t.firstChild), t.remove();
		}
		oe && (ie.splice(e, 1), qe.splice(e, 1)[0].remove(), Je.splice(e, 1), Ye.splice(e, 1)), Jn("delSeries", e);
	}
	r.delSeries = $e;
	let et = [
		!1,
		!1,
		!1,
		!1
	];
	function tt(e, t) {
		if (e._show = e.show, e.show) {
			let n = e.side % 2, i = b[e.scale];
			i ??= (e.scale = n ? v[1].scale : S, b[e.scale]);
			let a = i.time;
			e.size = Z(e.size), e.space = Z(e.space), e.rotate = Z(e.rotate), ea(e.incrs) && e.incrs.forEach((e) => {
				!Ji.has(e) && Ji.set(e, Yi(e));
			}), e.incrs = Z(e.incrs || (i.distr == 2 ? Pa : a ? _ == 1 ? qa : Xa : Fa)), e.splits = Z(e.splits || (a && i.distr == 1 ? te : i.distr == 3 ? Mo : i.distr == 4 ? No : jo)), e.stroke = Z(e.stroke), e.grid.stroke = Z(e.grid.stroke), e.ticks.stroke = Z(e.ticks.stroke), e.border.stroke = Z(e.border.stroke);
			let o = e.values;
			e.values = ea(o) && !ea(o[0]) ? Z(o) : a ? ea(o) ? eo(M, $a(o, ee)) : ra(o) ? to(M, o) : o || ne : o || Ao, e.filter = Z(e.filter || (i.distr >= 3 && i.log == 10 ? zo : i.distr == 3 && i.log == 2 ? Bo : zi)), e.font = qs(e.font), e.labelFont = qs(e.labelFont), e._size = e.size(r, null, t, 0), e._space = e._rotate = e._incrs = e._found = e._splits = e._values = null, e._size > 0 && (et[t] = !0, e._el = Wr(nr, f));
		}
	}
	function nt(e, t, n, r) {
		let [i, a, o, s] = n, c = t % 2, l = 0;
		return c == 0 && (s || a) && (l = t == 0 && !i || t == 2 && !o ? Ci(Eo.size / 3) : 0), c == 1 && (i || o) && (l = t == 1 && !a || t == 3 && !s ? Ci(Ho.size / 2) : 0), l;
	}
	let rt = r.padding = (e.padding || [
		nt,
		nt,
		nt,
		nt
	]).map((e) => Z(X(e, nt))), it = r._padding = rt.map((e, t) => e(r, t, et, 0)), at, ot = null, st = null, H = i == 1 ? v[0].idxs : null, ct = null, U = !1;
	function lt(e, n) {
		if (t = e ?? [], r.data = r._data = t, i == 2) {
			at = 0;
			for (let e = 1; e < v.length; e++) at += t[e][0].length;
		} else {
			t.length == 0 && (r.data = r._data = t = [[]]), ct = t[0], at = ct.length;
			let e = t;
			if (O == 2) {
				e = t.slice();
				let n = e[0] = Array(at);
				for (let e = 0; e < at; e++) n[e] = e;
			}
			r._data = t = e;
		}
		if (zt(!0), Jn("setData"), O == 2 && (Me = !0), n !== !1) {
			let e = D;
			e.auto(r, U) ? ut() : dn(S, e.min, e.max), Ne ||= P.left >= 0, Fe = !0, Wt();
		}
	}
	r.setData = lt;
	function ut() {
		U = !0;
		let e, n;
		i == 1 && (at > 0 ? (ot = H[0] = 0, st = H[1] = at - 1, e = t[0][ot], n = t[0][st], O == 2 ? (e = ot, n = st) : e == n && (O == 3 ? [e, n] = ci(e, e, D.log, !1) : O == 4 ? [e, n] = li(e, e, D.log, !1) : D.time ? n = e + Ci(86400 / _) : [e, n] = mi(e, n, ui, !0))) : (ot = H[0] = e = null, st = H[1] = n = null)), dn(S, e, n);
	}
	let dt, ft, pt, mt, ht, gt, _t, vt, yt, bt;
	function xt(e, t, n, r, i, a) {
		e ??= Sr, n ??= Qi, r ??= "butt", i ??= Sr, a ??= "round", e != dt && (d.strokeStyle = dt = e), i != ft && (d.fillStyle = ft = i), t != pt && (d.lineWidth = pt = t), a != ht && (d.lineJoin = ht = a), r != gt && (d.lineCap = gt = r), n != mt && d.setLineDash(mt = n);
	}
	function St(e, t, n, r) {
		t != ft && (d.fillStyle = ft = t), e != _t && (d.font = _t = e), n != vt && (d.textAlign = vt = n), r != yt && (d.textBaseline = yt = r);
	}
	function Ct(e, t, n, i, a = 0) {
		if (i.length > 0 && e.auto(r, U) && (t == null || t.min == null)) {
			let t = X(ot, 0), r = X(st, i.length - 1), o = n.min == null ? si(i, t, r, a, e.distr == 3) : [n.min, n.max];
			e.min = Ti(e.min, n.min = o[0]), e.max = Ei(e.max, n.max = o[1]);
		}
	}
	let wt = {
		min: null,
		max: null
	};
	function Tt() {
		for (let e in b) {
			let t = b[e];
			j[e] == null && (t.min == null || j[S] != null && t.auto(r, U)) && (j[e] = wt);
		}
		for (let e in b) {
			let t = b[e];
			j[e] == null && t.from != null && j[t.from] != null && (j[e] = wt);
		}
		j[S] != null && zt(!0);
		let e = {};
		for (let t in j) {
			let n = j[t];
			if (n != null) {
				let a = e[t] = ca(b[t], aa);
				if (n.min != null) la(a, n);
				else if (t != S || i == 2) {
					if (at == 0 && a.from == null) {
						let e = a.range(r, null, null, t);
						a.min = e[0], a.max = e[1];
					} else a.min = Ni, a.max = -Infinity;
				}
			}
		}
		if (at > 0) {
			v.forEach((n, a) => {
				if (i == 1) {
					let i = n.scale, o = j[i];
					if (o == null) return;
					let s = e[i];
					if (a == 0) {
						let e = s.range(r, s.min, s.max, i);
						s.min = e[0], s.max = e[1], ot = ti(s.min, t[0]), st = ti(s.max, t[0]), st - ot > 1 && (t[0][ot] < s.min && ot++, t[0][st] > s.max && st--), n.min = ct[ot], n.max = ct[st];
					} else n.show && n.auto && Ct(s, o, n, t[a], n.sorted);
					n.idxs[0] = ot, n.idxs[1] = st;
				} else if (a > 0 && n.show && n.auto) {
					let [r, i] = n.facets, o = r.scale, s = i.scale, [c, l] = t[a], u = e[o], d = e[s];
					u != null && Ct(u, j[o], r, c, r.sorted), d != null && Ct(d, j[s], i, l, i.sorted), n.min = i.min, n.max = i.max;
				}
			});
			for (let t in e) {
				let n = e[t], i = j[t];
				if (n.from == null && (i == null || i.min == null)) {
					let e = n.range(r, n.min == Ni ? null : n.min, n.max == -Infinity ? null : n.max, t);
					n.min = e[0], n.max = e[1];
				}
			}
		}
		for (let t in e) {
			let n = e[t];
			if (n.from != null) {
				let i = e[n.from];
				if (i.min == null) n.min = n.max = null;
				else {
					let e = n.range(r, i.min, i.max, t);
					n.min = e[0], n.max = e[1];
				}
			}
		}
		let n = {}, a = !1;
		for (let t in e) {
			let r = e[t], i = b[t];
			if (i.min != r.min || i.max != r.max) {
				i.min = r.min, i.max = r.max;
				let e = i.distr;
				i._min = e == 3 ? ki(i.min) : e == 4 ? Mi(i.min, i.asinh) : e == 100 ? i.fwd(i.min) : i.min, i._max = e == 3 ? ki(i.max) : e == 4 ? Mi(i.max, i.asinh) : e == 100 ? i.fwd(i.max) : i.max, n[t] = a = !0;
			}
		}
		if (a) {
			v.forEach((e, t) => {
				i == 2 ? t > 0 && n.y && (e._paths = null) : n[e.scale] && (e._paths = null);
			});
			for (let e in n) Me = !0, Jn("setScale", e);
			oe && P.left >= 0 && (Ne = Fe = !0);
		}
		for (let e in j) j[e] = null;
	}
	function Et(e) {
		let t = Fi(ot - 1, 0, at - 1), n = Fi(st + 1, 0, at - 1);
		for (; e[t] == null && t > 0;) t--;
		for (; e[n] == null && n < at - 1;) n++;
		return [t, n];
	}
	function Dt() {
		if (at > 0) {
			let e = v.some((e) => e._focus) && bt != We.alpha;
			e && (d.globalAlpha = bt = We.alpha), v.forEach((e, n) => {
				if (n > 0 && e.show && (Ot(n, !1), Ot(n, !0), e._paths == null)) {
					let a = bt;
					bt != e.alpha && (d.globalAlpha = bt = e.alpha);
					let o = i == 2 ? [0, t[n][0].length - 1] : Et(t[n]);
					e._paths = e.paths(r, n, o[0], o[1]), bt != a && (d.globalAlpha = bt = a);
				}
			}), v.forEach((e, t) => {
				if (t > 0 && e.show) {
					let n = bt;
					bt != e.alpha && (d.globalAlpha = bt = e.alpha), e._paths != null && kt(t, !1);
					{
						let n = e._paths == null ? null : e._paths.gaps, i = e.points.show(r, t, ot, st, n), a = e.points.filter(r, t, i, n);
						(i || a) && (e.points._paths = e.points.paths(r, t, ot, st, a), kt(t, !0));
					}
					bt != n && (d.globalAlpha = bt = n), Jn("drawSeries", t);
				}
			}), e && (d.globalAlpha = bt = 1);
		}
	}
	function Ot(e, t) {
		let n = t ? v[e].points : v[e];
		n._stroke = n.stroke(r, e), n._fill = n.fill(r, e);
	}
	function kt(e, t) {
		let n = t ? v[e].points : v[e], { stroke: r, fill: i, clip: a, flags: o, _stroke: s = n._stroke, _fill: c = n._fill, _width: l = n.width } = n._paths;
		l = Q(l * Y, 3);
		let u = null, f = l % 2 / 2;
		t && c == null && (c = l > 0 ? "#fff" : s);
		let p = n.pxAlign == 1 && f > 0;
		if (p && d.translate(f, f), !t) {
			let e = Oe - l / 2, t = B - l / 2, n = ke + l, r = V + l;
			u = new Path2D(), u.rect(e, t, n, r);
		}
		t ? jt(s, l, n.dash, n.cap, c, r, i, o, a) : At(e, s, l, n.dash, n.cap, c, r, i, o, u, a), p && d.translate(-f, -f);
	}
	function At(e, n, i, a, o, s, c, l, u, d, f) {
		let p = !1;
		u != 0 && x.forEach((m, h) => {
			if (m.series[0] == e) {
				let e = v[m.series[1]], g = t[m.series[1]], _ = (e._paths || Zi).band;
				ea(_) && (_ = m.dir == 1 ? _[0] : _[1]);
				let y, b = null;
				e.show && _ && hi(g, ot, st) ? (b = m.fill(r, h) || s, y = e._paths.clip) : _ = null, jt(n, i, a, o, b, c, l, u, d, f, y, _), p = !0;
			}
		}), p || jt(n, i, a, o, s, c, l, u, d, f);
	}
	function jt(e, t, n, r, i, a, o, s, c, l, u, f) {
		xt(e, t, n, r, i), (c || l || f) && (d.save(), c && d.clip(c), l && d.clip(l)), f ? (s & 3) == 3 ? (d.clip(f), u && d.clip(u), Nt(i, o), Mt(e, a, t)) : s & ts ? (Nt(i, o), d.clip(f), Mt(e, a, t)) : s & es && (d.save(), d.clip(f), u && d.clip(u), Nt(i, o), d.restore(), Mt(e, a, t)) : (Nt(i, o), Mt(e, a, t)), (c || l || f) && d.restore();
	}
	function Mt(e, t, n) {
		n > 0 && (t instanceof Map ? t.forEach((e, t) => {
			d.strokeStyle = dt = t, d.stroke(e);
		}) : t != null && e && d.stroke(t));
	}
	function Nt(e, t) {
		t instanceof Map ? t.forEach((e, t) => {
			d.fillStyle = ft = t, d.fill(e);
		}) : t != null && e && d.fill(t);
	}
	function Pt(e, t, n, i) {
		let a = y[e], o;
		if (i <= 0) o = [0, 0];
		else {
			let s = a._space = a.space(r, e, t, n, i);
			o = Ks(t, n, a._incrs = a.incrs(r, e, t, n, i, s), i, s);
		}
		return a._found = o;
	}
	function Ft(e, t, n, r, i, a, o, s, c, l) {
		let u = o % 2 / 2;
		h == 1 && d.translate(u, u), xt(s, o, c, l, s), d.beginPath();
		let f, p, m, g, _ = i + (r == 0 || r == 3 ? -a : a);
		n == 0 ? (p = i, g = _) : (f = i, m = _);
		for (let r = 0; r < e.length; r++) t[r] != null && (n == 0 ? f = m = e[r] : p = g = e[r], d.moveTo(f, p), d.lineTo(m, g));
		d.stroke(), h == 1 && d.translate(-u, -u);
	}
	function It(e) {
		let t = !0;
		return y.forEach((n, i) => {
			if (!n.show) return;
			let a = b[n.scale];
			if (a.min == null) {
				n._show && (t = !1, n._show = !1, zt(!1));
				return;
			}
			n._show || (t = !1, n._show = !0, zt(!1));
			let o = n.side, s = o % 2, { min: c, max: l } = a, [u, d] = Pt(i, c, l, s == 0 ? L : R);
			if (d == 0) return;
			let f = a.distr == 2, p = n._splits = n.splits(r, i, c, l, u, d, f), m = a.distr == 2 ? p.map((e) => ct[e]) : p, h = a.distr == 2 ? ct[p[1]] - ct[p[0]] : u, g = n._values = n.values(r, n.filter(r, m, i, d, h), i, d, h);
			n._rotate = o == 2 ? n.rotate(r, g, i, d) : 0;
			let _ = n._size;
			n._size = wi(n.size(r, g, i, e)), _ != null && n._size != _ && (t = !1);
		}), t;
	}
	function Lt(e) {
		let t = !0;
		return rt.forEach((n, i) => {
			let a = n(r, i, et, e);
			a != it[i] && (t = !1), it[i] = a;
		}), t;
	}
	function Rt() {
		for (let e = 0; e < y.length; e++) {
			let t = y[e];
			if (!t.show || !t._show) continue;
			let n = t.side, i = n % 2, a, o, c = t.stroke(r, e), l = n == 0 || n == 3 ? -1 : 1, [u, f] = t._found;
			if (t.label != null) {
				let s = t.labelGap * l, p = Ci((t._lpos + s) * Y);
				St(t.labelFont[0], c, "center", n == 2 ? _r : vr), d.save(), i == 1 ? (a = o = 0, d.translate(p, Ci(B + V / 2)), d.rotate((n == 3 ? -bi : bi) / 2)) : (a = Ci(Oe + ke / 2), o = p);
				let m = Ii(t.label) ? t.label(r, e, u, f) : t.label;
				d.fillText(m, a, o), d.restore();
			}
			if (f == 0) continue;
			let p = b[t.scale], m = i == 0 ? ke : V, h = i == 0 ? Oe : B, _ = t._splits, v = p.distr == 2 ? _.map((e) => ct[e]) : _, x = p.distr == 2 ? ct[_[1]] - ct[_[0]] : u, S = t.ticks, C = t.border, w = S.show ? S.size : 0, T = Ci(w * Y), E = Ci((t.alignTo == 2 ? t._size - w - t.gap : t.gap) * Y), D = t._rotate * -bi / 180, O = g(t._pos * Y), k = O + (T + E) * l;
			o = i == 0 ? k : 0, a = i == 1 ? k : 0;
			let A = t.font[0];
			St(A, c, t.align == 1 ? yr : t.align == 2 ? br : D > 0 ? yr : D < 0 ? br : i == 0 ? "center" : n == 3 ? br : yr, D || i == 1 ? "middle" : n == 2 ? _r : vr);
			let j = t.font[1] * t.lineGap, M = _.map((e) => g(s(e, p, m, h))), ee = t._values;
			for (let e = 0; e < ee.length; e++) {
				let t = ee[e];
				if (t != null) {
					i == 0 ? a = M[e] : o = M[e], t = "" + t;
					let n = t.indexOf("\n") == -1 ? [t] : t.split(/\n/gm);
					for (let e = 0; e < n.length; e++) {
						let t = n[e];
						D ? (d.save(), d.translate(a, o + e * j), d.rotate(D), d.fillText(t, 0, 0), d.restore()) : d.fillText(t, a, o + e * j);
					}
				}
			}
			S.show && Ft(M, S.filter(r, v, e, f, x), i, n, O, T, Q(S.width * Y, 3), S.stroke(r, e), S.dash, S.cap);
			let te = t.grid;
			te.show && Ft(M, te.filter(r, v, e, f, x), i, i == 0 ? 2 : 1, i == 0 ? B : Oe, i == 0 ? V : ke, Q(te.width * Y, 3), te.stroke(r, e), te.dash, te.cap), C.show && Ft([O], [1], +(i == 0), i == 0 ? 1 : 2, i == 1 ? B : Oe, i == 1 ? V : ke, Q(C.width * Y, 3), C.stroke(r, e), C.dash, C.cap);
		}
		Jn("drawAxes");
	}
	function zt(e) {
		v.forEach((t, n) => {
			n > 0 && (t._paths = null, e && (i == 1 ? (t.min = null, t.max = null) : t.facets.forEach((e) => {
				e.min = null, e.max = null;
			})));
		});
	}
	let Bt = !1, Vt = !1, Ht = [];
	function Ut() {
		Vt = !1;
		for (let e = 0; e < Ht.length; e++) Jn(...Ht[e]);
		Ht.length = 0;
	}
	function Wt() {
		Bt ||= (ha(Kt), !0);
	}
	function Gt(e, t = !1) {
		Bt = !0, Vt = t, e(r), Kt(), t && Ht.length > 0 && queueMicrotask(Ut);
	}
	r.batch = Gt;
	function Kt() {
		if (Ae &&= (Tt(), !1), Me &&= (Re(), !1), je) {
			if (Hr(p, yr, Ce), Hr(p, _r, we), Hr(p, hr, L), Hr(p, gr, R), Hr(m, yr, Ce), Hr(m, _r, we), Hr(m, hr, L), Hr(m, gr, R), Hr(f, hr, xe), Hr(f, gr, Se), u.width = Ci(xe * Y), u.height = Ci(Se * Y), y.forEach(({ _el: e, _show: t, _size: n, _pos: r, side: i }) => {
				if (e != null) {
					if (t) {
						let t = i === 3 || i === 0 ? n : 0, a = i % 2 == 1;
						Hr(e, a ? "left" : "top", r - t), Hr(e, a ? "width" : "height", n), Hr(e, a ? "top" : "left", a ? we : Ce), Hr(e, a ? "height" : "width", a ? R : L), Vr(e, rr);
					} else Br(e, rr);
				}
			}), dt = ft = pt = ht = gt = _t = vt = yt = mt = null, bt = 1, Mn(!0), Ce != Te || we != Ee || L != De || R != z) {
				zt(!1);
				let e = L / De, t = R / z;
				if (oe && !Ne && P.left >= 0) {
					P.left *= e, P.top *= t, Xt && Kr(Xt, Ci(P.left), 0, L, R), Zt && Kr(Zt, 0, Ci(P.top), L, R);
					for (let n = 0; n < qe.length; n++) {
						let r = qe[n];
						r != null && (Je[n] *= e, Ye[n] *= t, Kr(r, wi(Je[n]), wi(Ye[n]), L, R));
					}
				}
				if (q.show && !Pe && q.left >= 0 && q.width > 0) {
					q.left *= e, q.width *= e, q.top *= t, q.height *= t;
					for (let e in Fn) Hr(cn, e, q[e]);
				}
				Te = Ce, Ee = we, De = L, z = R;
			}
			Jn("setSize"), je = !1;
		}
		xe > 0 && Se > 0 && (d.clearRect(0, 0, u.width, u.height), Jn("drawClear"), w.forEach((e) => e()), Jn("draw")), q.show && Pe && (ln(q), Pe = !1), oe && Ne && (An(null, !0, !1), Ne = !1), N.show && N.live && Fe && (On(), Fe = !1), c || (c = !0, r.status = 1, Jn("ready")), U = !1, Bt = !1;
	}
	r.redraw = (e, t) => {
		Me = t || !1, e === !1 ? Wt() : dn(S, D.min, D.max);
	};
	function qt(e, n) {
		let i = b[e];
		if (i.from == null) {
			if (at == 0) {
				let t = i.range(r, n.min, n.max, e);
				n.min = t[0], n.max = t[1];
			}
			if (n.min > n.max) {
				let e = n.min;
				n.min = n.max, n.max = e;
			}
			if (at > 1 && n.min != null && n.max != null && n.max - n.min < 1e-16) return;
			e == S && i.distr == 2 && at > 0 && (n.min = ti(n.min, t[0]), n.max = ti(n.max, t[0]), n.min == n.max && n.max++), j[e] = n, Ae = !0, Wt();
		}
	}
	r.setScale = qt;
	let Jt, Yt, Xt, Zt, Qt, $t, en, tn, nn, rn, W, G, an = !1, on = P.drag, sn = on.x, K = on.y;
	oe && (P.x && (Jt = Wr(ar, m)), P.y && (Yt = Wr(or, m)), D.ori == 0 ? (Xt = Jt, Zt = Yt) : (Xt = Yt, Zt = Jt), W = P.left, G = P.top);
	let q = r.select = la({
		show: !0,
		over: !0,
		left: 0,
		width: 0,
		top: 0,
		height: 0
	}, e.select), cn = q.show ? Wr(ir, q.over ? m : p) : null;
	function ln(e, t) {
		if (q.show) {
			for (let t in e) q[t] = e[t], t in Fn && Hr(cn, t, e[t]);
			t !== !1 && Jn("setSelect");
		}
	}
	r.setSelect = ln;
	function un(e) {
		if (v[e].show) ae && Vr(le[e], rr);
		else if (ae && Br(le[e], rr), oe) {
			let t = Ke ? qe[0] : qe[e];
			t != null && Kr(t, -10, -10, L, R);
		}
	}
	function dn(e, t, n) {
		qt(e, {
			min: t,
			max: n
		});
	}
	function fn(e, t, n, a) {
		t.focus != null && bn(e), t.show != null && v.forEach((n, r) => {
			r > 0 && (e == r || e == null) && (n.show = t.show, un(r), i == 2 ? (dn(n.facets[0].scale, null, null), dn(n.facets[1].scale, null, null)) : dn(n.scale, null, null), Wt());
		}), n !== !1 && Jn("setSeries", e, t), a && Pr("setSeries", r, e, t);
	}
	r.setSeries = fn;
	function pn(e, t) {
		la(x[e], t);
	}
	function mn(e, t) {
		e.fill = Z(e.fill || null), e.dir = X(e.dir, -1), t ??= x.length, x.splice(t, 0, e);
	}
	function hn(e) {
		e == null ? x.length = 0 : x.splice(e, 1);
	}
	r.addBand = mn, r.setBand = pn, r.delBand = hn;
	function gn(e, t) {
		v[e].alpha = t, oe && qe[e] != null && (qe[e].style.opacity = t), ae && le[e] && (le[e].style.opacity = t);
	}
	let _n, J, vn, yn = { focus: !0 };
	function bn(e) {
		if (e != vn) {
			let t = e == null, n = We.alpha != 1;
			v.forEach((r, a) => {
				if (i == 1 || a > 0) {
					let i = t || a == 0 || a == e;
					r._focus = t ? null : i, n && gn(a, i ? 1 : We.alpha);
				}
			}), vn = e, n && Wt();
		}
	}
	ae && Ge && ye(Dr, I, (e) => {
		P._lock || (He(e), vn != null && fn(null, yn, !0, kr.setSeries));
	});
	function xn(e, t, n) {
		let r = b[t];
		n && (e = e / Y - (r.ori == 1 ? we : Ce));
		let i = L;
		r.ori == 1 && (i = R, e = i - e), r.dir == -1 && (e = i - e);
		let a = r._min, o = r._max, s = e / i, c = a + (o - a) * s, l = r.distr;
		return l == 3 ? Di(10, c) : l == 4 ? ji(c, r.asinh) : l == 100 ? r.bwd(c) : c;
	}
	function Sn(e, n) {
		return ti(xn(e, S, n), t[0], ot, st);
	}
	r.valToIdx = (e) => ti(e, t[0]), r.posToIdx = Sn, r.posToVal = xn, r.valToPos = (e, t, n) => b[t].ori == 0 ? a(e, b[t], n ? ke : L, n ? Oe : 0) : o(e, b[t], n ? V : R, n ? B : 0), r.setCursor = (e, t, n) => {
		W = e.left, G = e.top, An(null, t, n);
	};
	function Cn(e, t) {
		Hr(cn, yr, q.left = e), Hr(cn, hr, q.width = t);
	}
	function wn(e, t) {
		Hr(cn, _r, q.top = e), Hr(cn, gr, q.height = t);
	}
	let Tn = D.ori == 0 ? Cn : wn, En = D.ori == 1 ? Cn : wn;
	function Dn() {
		if (ae && N.live) for (let e = +(i == 2); e < v.length; e++) {
			if (e == 0 && fe) continue;
			let t = N.values[e], n = 0;
			for (let r in t) ue[e][n++].firstChild.nodeValue = t[r];
		}
	}
	function On(e, t) {
		if (e != null && (e.idxs ? e.idxs.forEach((e, t) => {
			ie[t] = e;
		}) : na(e.idx) || ie.fill(e.idx), N.idx = ie[0]), ae && N.live) {
			for (let e = 0; e < v.length; e++) (e > 0 || i == 1 && !fe) && kn(e, ie[e]);
			Dn();
		}
		Fe = !1, t !== !1 && Jn("setLegend");
	}
	r.setLegend = On;
	function kn(e, n) {
		let i = v[e], a = e == 0 && O == 2 ? ct : t[e], o;
		fe ? o = i.values(r, e, n) ?? pe : (o = i.value(r, n == null ? null : a[n], e, n), o = o == null ? pe : { _: o }), N.values[e] = o;
	}
	function An(e, n, a) {
		nn = W, rn = G, [W, G] = P.move(r, W, G), P.left = W, P.top = G, oe && (Xt && Kr(Xt, Ci(W), 0, L, R), Zt && Kr(Zt, 0, Ci(G), L, R));
		let o, s = ot > st;
		_n = Ni, J = null;
		let c = D.ori == 0 ? L : R, l = D.ori == 1 ? L : R;
		if (W < 0 || at == 0 || s) {
			o = P.idx = null;
			for (let e = 0; e < v.length; e++) {
				let t = qe[e];
				t != null && Kr(t, -10, -10, L, R);
			}
			Ge && fn(null, yn, !0, e == null && kr.setSeries), N.live && (ie.fill(o), Fe = !0);
		} else {
			let e, n, a;
			i == 1 && (e = D.ori == 0 ? W : G, n = xn(e, S), o = P.idx = ti(n, t[0], ot, st), a = k(t[0][o], D, c, 0));
			let s = -10, u = -10, d = 0, f = 0, p = !0, m = "", h = "";
			for (let e = +(i == 2); e < v.length; e++) {
				let g = v[e], _ = ie[e], y = _ == null ? null : i == 1 ? t[e][_] : t[e][1][_], x = P.dataIdx(r, e, o, n), S = x == null ? null : i == 1 ? t[e][x] : t[e][1][x];
				if (Fe = Fe || S != y || x != _, ie[e] = x, e > 0 && g.show) {
					let n = x == null ? -10 : x == o ? a : k(i == 1 ? t[0][x] : t[e][0][x], D, c, 0), _ = S == null ? -10 : A(S, i == 1 ? b[g.scale] : b[g.facets[1].scale], l, 0);
					if (Ge && S != null) {
						let t = D.ori == 1 ? W : G, n = xi(We.dist(r, e, x, _, t));
						if (n < _n) {
							let r = We.bias;
							if (r != 0) {
								let i = xn(t, g.scale), a = S >= 0 ? 1 : -1, o = i >= 0 ? 1 : -1;
								o == a && (o == 1 ? r == 1 ? S >= i : S <= i : r == 1 ? S <= i : S >= i) && (_n = n, J = e);
							} else _n = n, J = e;
						}
					}
					if (Fe || Ke) {
						let t, i;
						D.ori == 0 ? (t = n, i = _) : (t = _, i = n);
						let a, o, c, l, g, v, y = !0, b = Ue.bbox;
						if (b != null) {
							y = !1;
							let t = b(r, e);
							c = t.left, l = t.top, a = t.width, o = t.height;
						} else c = t, l = i, a = o = Ue.size(r, e);
						if (v = Ue.fill(r, e), g = Ue.stroke(r, e), Ke) e == J && _n <= We.prox && (s = c, u = l, d = a, f = o, p = y, m = v, h = g);
						else {
							let t = qe[e];
							t != null && (Je[e] = c, Ye[e] = l, Xr(t, a, o, y), Jr(t, v, g), Kr(t, wi(c), wi(l), L, R));
						}
					}
				}
			}
			if (Ke) {
				let e = We.prox;
				if (Fe || (vn == null ? _n <= e : _n > e || J != vn)) {
					let e = qe[0];
					e != null && (Je[0] = s, Ye[0] = u, Xr(e, d, f, p), Jr(e, m, h), Kr(e, wi(s), wi(u), L, R));
				}
			}
		}
		if (q.show && an) {
			if (e != null) {
				let [t, n] = kr.scales, [r, i] = kr.match, [a, o] = e.cursor.sync.scales, s = e.cursor.drag;
				if (sn = s._x, K = s._y, sn || K) {
					let { left: s, top: u, width: d, height: f } = e.select, p = e.scales[a].ori, m = e.posToVal, h, g, _, v, y, x = t != null && r(t, a), S = n != null && i(n, o);
					x && sn ? (p == 0 ? (h = s, g = d) : (h = u, g = f), _ = b[t], v = k(m(h, a), _, c, 0), y = k(m(h + g, a), _, c, 0), Tn(Ti(v, y), xi(y - v))) : Tn(0, c), S && K ? (p == 1 ? (h = s, g = d) : (h = u, g = f), _ = b[n], v = A(m(h, o), _, l, 0), y = A(m(h + g, o), _, l, 0), En(Ti(v, y), xi(y - v))) : En(0, l);
				} else In();
			} else {
				let e = xi(nn - Qt), t = xi(rn - $t);
				if (D.ori == 1) {
					let n = e;
					e = t, t = n;
				}
				sn = on.x && e >= on.dist, K = on.y && t >= on.dist;
				let n = on.uni;
				n == null ? on.x && on.y && (sn || K) && (sn = K = !0) : sn && K && (sn = e >= n, K = t >= n, !sn && !K && (t > e ? K = !0 : sn = !0));
				let r, i;
				sn && (D.ori == 0 ? (r = en, i = W) : (r = tn, i = G), Tn(Ti(r, i), xi(i - r)), K || En(0, l)), K && (D.ori == 1 ? (r = en, i = W) : (r = tn, i = G), En(Ti(r, i), xi(i - r)), sn || Tn(0, c)), !sn && !K && (Tn(0, 0), En(0, 0));
			}
		}
		if (on._x = sn, on._y = K, e == null) {
			if (a) {
				if (Ar != null) {
					let [e, t] = kr.scales;
					kr.values[0] = e == null ? null : xn(D.ori == 0 ? W : G, e), kr.values[1] = t == null ? null : xn(D.ori == 1 ? W : G, t);
				}
				Pr(Cr, r, W, G, L, R, o);
			}
			if (Ge) {
				let e = a && kr.setSeries, t = We.prox;
				vn == null ? _n <= t && fn(J, yn, !0, e) : _n > t ? fn(null, yn, !0, e) : J != vn && fn(J, yn, !0, e);
			}
		}
		Fe && (N.idx = o, On()), n !== !1 && Jn("setCursor");
	}
	let jn = null;
	Object.defineProperty(r, "rect", { get() {
		return jn ?? Mn(!1), jn;
	} });
	function Mn(e = !1) {
		e ? jn = null : (jn = m.getBoundingClientRect(), Jn("syncRect", jn));
	}
	function Nn(e, t, n, r, i, a, o) {
		P._lock || an && e != null && e.movementX == 0 && e.movementY == 0 || (Pn(e, t, n, r, i, a, o, !1, e != null), e == null ? An(t, !0, !1) : An(null, !0, !0));
	}
	function Pn(e, t, n, i, a, o, c, l, u) {
		if (jn ?? Mn(!1), He(e), e != null) n = e.clientX - jn.left, i = e.clientY - jn.top;
		else {
			if (n < 0 || i < 0) {
				W = -10, G = -10;
				return;
			}
			let [e, r] = kr.scales, c = t.cursor.sync, [l, u] = c.values, [d, f] = c.scales, [p, m] = kr.match, h = t.axes[0].side % 2 == 1, g = D.ori == 0 ? L : R, _ = D.ori == 1 ? L : R, v = h ? o : a, y = h ? a : o, x = h ? i : n, S = h ? n : i;
			if (n = d == null ? x / v * g : p(e, d) ? s(l, b[e], g, 0) : -10, i = f == null ? S / y * _ : m(r, f) ? s(u, b[r], _, 0) : -10, D.ori == 1) {
				let e = n;
				n = i, i = e;
			}
		}
		u && (t == null || t.cursor.event.type == Cr) && ((n <= 1 || n >= L - 1) && (n = Gi(n, L)), (i <= 1 || i >= R - 1) && (i = Gi(i, R))), l ? (Qt = n, $t = i, [en, tn] = P.move(r, n, i)) : (W = n, G = i);
	}
	let Fn = {
		width: 0,
		height: 0,
		left: 0,
		top: 0
	};
	function In() {
		ln(Fn, !1);
	}
	let Ln, Rn, zn, Bn;
	function Vn(e, t, n, i, a, o, s) {
		an = !0, sn = K = on._x = on._y = !1, Pn(e, t, n, i, a, o, s, !0, !1), e != null && (ye(Tr, Fr, Hn, !1), Pr(wr, r, en, tn, L, R, null));
		let { left: c, top: l, width: u, height: d } = q;
		Ln = c, Rn = l, zn = u, Bn = d;
	}
	function Hn(e, t, n, i, a, o, s) {
		an = on._x = on._y = !1, Pn(e, t, n, i, a, o, s, !1, !0);
		let { left: c, top: l, width: u, height: d } = q, f = u > 0 || d > 0, p = Ln != c || Rn != l || zn != u || Bn != d;
		if (f && p && ln(q), on.setScale && f && p) {
			let e = c, t = u, n = l, r = d;
			if (D.ori == 1 && (e = l, t = d, n = c, r = u), sn && dn(S, xn(e, S), xn(e + t, S)), K) for (let e in b) {
				let t = b[e];
				e != S && t.from == null && t.min != Ni && dn(e, xn(n + r, e), xn(n, e));
			}
			In();
		} else P.lock && (P._lock = !P._lock, An(t, !0, e != null));
		e != null && (be(Tr, Fr), Pr(Tr, r, W, G, L, R, null));
	}
	function Un(e, t, n, r, i, a, o) {
		if (P._lock) return;
		He(e);
		let s = an;
		if (an) {
			let e = !0, t = !0, n, r;
			D.ori == 0 ? (n = sn, r = K) : (n = K, r = sn), n && r && (e = W <= 10 || W >= L - 10, t = G <= 10 || G >= R - 10), n && e && (W = W < en ? 0 : L), r && t && (G = G < tn ? 0 : R), An(null, !0, !0), an = !1;
		}
		W = -10, G = -10, ie.fill(null), An(null, !0, !0), s && (an = s);
	}
	function Wn(e, t, n, i, a, o, s) {
		P._lock || (He(e), ut(), In(), e != null && Pr(Or, r, W, G, L, R, null));
	}
	function Gn() {
		y.forEach(Js), Ie(r.width, r.height, !0);
	}
	$r(Mr, Ir, Gn);
	let Kn = {};
	Kn.mousedown = Vn, Kn.mousemove = Nn, Kn.mouseup = Hn, Kn.dblclick = Wn, Kn.setSeries = (e, t, n, i) => {
		let a = kr.match[2];
		n = a(r, t, n), n != -1 && fn(n, i, !0, !1);
	}, oe && (ye(wr, m, Vn), ye(Cr, m, Nn), ye(Er, m, (e) => {
		He(e), Mn(!1);
	}), ye(Dr, m, Un), ye(Or, m, Wn), Ms.add(r), r.syncRect = Mn);
	let qn = r.hooks = e.hooks || {};
	function Jn(e, t, n) {
		Vt ? Ht.push([
			e,
			t,
			n
		]) : e in qn && qn[e].forEach((e) => {
			e.call(null, r, t, n);
		});
	}
	(e.plugins || []).forEach((e) => {
		for (let t in e.hooks) qn[t] = (qn[t] || []).concat(e.hooks[t]);
	});
	let xr = (e, t, n) => n, kr = la({
		key: null,
		setSeries: !1,
		filters: {
			pub: Vi,
			sub: Vi
		},
		scales: [S, v[1] ? v[1].scale : null],
		match: [
			Hi,
			Hi,
			xr
		],
		values: [null, null]
	}, P.sync);
	kr.match.length == 2 && kr.match.push(xr), P.sync = kr;
	let Ar = kr.key, jr = $o(Ar);
	function Pr(e, t, n, r, i, a, o) {
		kr.filters.pub(e, t, n, r, i, a, o) && jr.pub(e, t, n, r, i, a, o);
	}
	jr.sub(r);
	function Lr(e, t, n, r, i, a, o) {
		kr.filters.sub(e, t, n, r, i, a, o) && Kn[e](null, t, n, r, i, a, o);
	}
	r.pub = Lr;
	function Rr() {
		jr.unsub(r), Ms.delete(r), ve.clear(), ei(Mr, Ir, Gn), l.remove(), I?.remove(), Jn("destroy");
	}
	r.destroy = Rr;
	function zr() {
		Jn("init", e, t), lt(t || e.data, !1), j[S] ? qt(S, j[S]) : ut(), Pe = q.show && (q.width > 0 || q.height > 0), Ne = Fe = !0, Ie(e.width, e.height);
	}
	return v.forEach(Ze), y.forEach(tt), n ? n instanceof HTMLElement ? (n.appendChild(l), zr()) : n(r, zr) : zr(), r;
}
Ys.assign = la, Ys.fmtNum = vi, Ys.rangeNum = mi, Ys.rangeLog = ci, Ys.rangeAsinh = li, Ys.orient = ns, Ys.pxRatio = Y, Ys.join = ma, Ys.fmtDate = Da, Ys.tzDate = ka, Ys.sync = $o;
{
	Ys.addGap = ss, Ys.clipGaps = os;
	let e = Ys.paths = { points: xs };
	e.linear = Ts, e.stepped = Es, e.bars = Os, e.spline = As;
}
// src/components/curves/axes.ts
var Xs = Array.from({ length: 51 }, (e, t) => 2 ** t);
function Zs(e) {
	return e === "bytes" || e === "bytes_per_s" ? Xs : void 0;
}
function Qs(e, t) {
	return J(e, t).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");
}
var $s = [
	[1e9, "s"],
	[1e6, "ms"],
	[1e3, "us"],
	[1, "ns"]
];
function ec(e) {
	let t = Math.abs((e[1] ?? 0) - (e[0] ?? 0)) || 1, [n, r] = $s.find(([e]) => t >= e) ?? [1, "ns"];
	return e.map((e) => `${Number((e / n).toFixed(3))} ${r}`);
}
// src/components/curves/plotting.ts
function tc(e) {
	return `--part-${e % 8 + 1}`;
}
function nc(e, t) {
	let n = rc(), r = Zs(e.kind);
	return {
		width: t.width,
		height: t.height,
		legend: { show: !1 },
		padding: [
			12,
			12,
			0,
			0
		],
		cursor: {
			y: !1,
			points: { size: 7 },
			drag: {
				x: !0,
				y: !1,
				setScale: !0
			}
		},
		scales: {
			x: { time: !1 },
			y: { range: {
				min: {
					soft: 0,
					mode: 1
				},
				max: { pad: .08 }
			} }
		},
		series: [{}, ...e.series.map((e, n) => ic(e, n, t.hidden))],
		axes: [{
			...n,
			space: 90,
			size: 32,
			values: (e, t) => ec(t)
		}, {
			...n,
			size: 76,
			space: 34,
			...r ? { incrs: r } : {},
			values: (t, n) => n.map((t) => Qs(e.kind, t))
		}],
		hooks: {
			draw: [(t) => oc(t, e.marks)],
			setCursor: [(e) => t.onCursor(e.cursor.idx ?? null)],
			setScale: [(e, n) => n === "x" && t.onZoom(ac(e))]
		}
	};
}
function rc() {
	let e = {
		stroke: pe("--line"),
		width: 1
	};
	return {
		stroke: pe("--quiet"),
		font: `12px ${pe("--sans")}`,
		grid: e,
		ticks: {
			...e,
			size: 4
		}
	};
}
function ic({ name: e, shape: t }, n, r) {
	let i = pe(tc(n)), { linear: a, stepped: o } = Ys.paths, s = t === "step" ? o?.({ align: 1 }) : a?.();
	return {
		label: e,
		show: !r.has(n),
		stroke: i,
		width: 1.5,
		...t === "area" || n === 0 ? { fill: `${i}26` } : {},
		...n % 2 ? { dash: [6, 3] } : {},
		...s ? { paths: s } : {},
		points: { show: !1 }
	};
}
function ac(e) {
	let t = e.data[0], { min: n, max: r } = e.scales.x ?? {};
	return n != null && r != null && (n > (t[0] ?? n) || r < (t.at(-1) ?? r));
}
function oc(e, t) {
	let { ctx: n, bbox: r } = e, i = devicePixelRatio;
	n.save(), n.strokeStyle = pe("--text"), n.font = `${12 * i}px ${pe("--sans")}`, n.lineWidth = i, n.setLineDash([4 * i, 3 * i]);
	for (let { x: a, label: o } of t) {
		let t = e.valToPos(a, "x", !0);
		if (t < r.left || t > r.left + r.width) continue;
		n.beginPath(), n.moveTo(t, r.top), n.lineTo(t, r.top + r.height), n.stroke();
		let s = n.measureText(o).width + 8 * i, c = t > r.left + r.width / 2 ? t - s - 2 * i : t + 2 * i;
		n.fillStyle = pe("--ground"), n.fillRect(c, r.top, s, 17 * i), n.fillStyle = pe("--text"), n.fillText(o, c + 4 * i, r.top + 12 * i);
	}
	n.restore();
}
function sc(e, t, n = 1) {
	let r = e.data[0], { min: i, max: a } = e.scales.x ?? {}, [o, s] = [r[0], r.at(-1)];
	if (i == null || a == null || o === void 0 || s === void 0) return;
	let c = Math.min((a - i) * n, s - o), l = (i + a) / 2 + t * (a - i), u = Math.min(Math.max(l - c / 2, o), s - c);
	e.setScale("x", {
		min: u,
		max: u + c
	});
}
// src/components/curves/telling.ts
function cc(e) {
	let [t, n] = [e.x[0], e.x.at(-1)];
	if (t === void 0 || n === void 0) return `${e.title}: no points.`;
	let r = `from ${J("moment_ns", t)} to ${J("moment_ns", n)}`, i = e.series.map(({ name: t, values: n }) => {
		let r = n.filter((e) => e !== null);
		if (!r.length) return `${t} has no values`;
		let i = r.reduce((e, t) => Math.max(e, t)), a = r.reduce((e, t) => Math.min(e, t)), o = J("moment_ns", e.x[n.indexOf(i)]);
		return `${t} from ${J(e.kind, a)} to ${J(e.kind, i)}, most at ${o}`;
	});
	return `${e.title || "Curves"} ${r}: ${i.join("; ")}.`;
}
// src/components/curves/usePlot.ts
var lc = 240;
function uc(e, t, n) {
	let r = V(null), i = V(n);
	return i.current = n, B(() => {
		let n = e.current;
		if (!n) return;
		let a = () => {
			r.current?.destroy();
			let e = {
				width: n.clientWidth,
				height: lc
			};
			r.current = new Ys(nc(t, {
				...i.current,
				...e
			}), dc(t), n);
		};
		a();
		let o = new ResizeObserver(() => r.current?.setSize({
			width: n.clientWidth,
			height: lc
		}));
		o.observe(n);
		let s = fe(a);
		return () => {
			s(), o.disconnect(), r.current?.destroy(), r.current = null;
		};
	}, [t, e]), B(() => {
		for (let e of t.series.keys()) r.current?.setSeries(e + 1, { show: !n.hidden.has(e) });
	}, [t, n.hidden]), r;
}
function dc(e) {
	return [e.x, ...e.series.map(({ values: e }) => e)];
}
// src/components/Curves.tsx
function fc({ block: e }) {
	let t = V(null), [n, r] = z(/* @__PURE__ */ new Set()), [i, a] = z(null), [o, s] = z(!1), c = uc(t, e, {
		hidden: n,
		onCursor: a,
		onZoom: s
	}), l = Me(dn), u = (t) => {
		let n = t === null ? void 0 : e.x[t];
		return n === void 0 ? null : l.hrefOfCell("moment", String(Math.round(n)), {});
	}, d = () => {
		let e = u(i);
		e && location.assign(e);
	}, f = V(0), p = (e) => {
		Math.abs(e.clientX - f.current) < 4 && d();
	}, m = (e) => {
		let t = new Set(n);
		t.delete(e) || t.add(e), r(t);
	};
	return /* @__PURE__ */ H("figure", {
		class: "curves",
		children: [
			/* @__PURE__ */ H(An, { title: e.title }),
			/* @__PURE__ */ H("div", {
				class: "toolbar",
				children: [/* @__PURE__ */ H("ul", {
					class: "legend",
					children: [e.series.map(({ name: t, values: r }, a) => /* @__PURE__ */ H("li", { children: /* @__PURE__ */ H("button", {
						type: "button",
						class: "series",
						"aria-pressed": !n.has(a),
						onClick: () => m(a),
						children: [
							/* @__PURE__ */ H("span", {
								class: `swatch line ${a % 2 ? "dashed" : ""}`,
								style: { borderColor: `var(${tc(a)})` }
							}),
							t,
							i !== null && /* @__PURE__ */ H("b", { children: J(e.kind, r[i]) })
						]
					}) }, t)), i !== null && /* @__PURE__ */ H("li", {
						class: "at",
						children: ["at ", J("moment_ns", e.x[i])]
					})]
				}), o && /* @__PURE__ */ H("button", {
					type: "button",
					class: "button",
					onClick: () => c.current && pc(c.current),
					children: [/* @__PURE__ */ H(U, {
						name: "reset",
						size: 14
					}), "Show all"]
				})]
			}),
			/* @__PURE__ */ H("div", {
				class: "plot",
				ref: t,
				tabIndex: 0,
				role: "application",
				"aria-label": `${cc(e)} Arrow keys move, plus and minus zoom, 0 shows all.`,
				title: u(0) ? "Click: show this moment in the trace" : void 0,
				onKeyDown: (e) => {
					e.key === "Enter" && d(), c.current && mc(c.current, e) && e.preventDefault();
				},
				onMouseDownCapture: (e) => {
					f.current = e.clientX;
				},
				onClick: p
			})
		]
	});
}
function pc(e) {
	let t = e.data[0];
	e.setScale("x", {
		min: t[0] ?? 0,
		max: t.at(-1) ?? 1
	});
}
function mc(e, { key: t }) {
	if (t === "ArrowLeft") sc(e, -.1);
	else if (t === "ArrowRight") sc(e, .1);
	else if (t === "+" || t === "=") sc(e, 0, .5);
	else if (t === "-") sc(e, 0, 2);
	else if (t === "0" || t === "Escape") pc(e);
	else return !1;
	return !0;
}
// src/components/Facts.tsx
function hc({ block: e }) {
	return /* @__PURE__ */ H("dl", {
		class: "facts",
		children: e.rows.map(([e, t]) => /* @__PURE__ */ H("div", { children: [/* @__PURE__ */ H("dt", { children: e }), /* @__PURE__ */ H("dd", { children: t })] }, e))
	});
}
// src/components/Findings.tsx
var gc = {
	high: "bad",
	medium: "warning",
	low: "notice"
};
function _c({ block: e }) {
	return e.items.length ? /* @__PURE__ */ H("ol", {
		class: "cards",
		children: e.items.map((e, t) => /* @__PURE__ */ H(vc, { item: e }, `${e.rule} ${t}`))
	}) : /* @__PURE__ */ H("p", {
		class: "note tone-good",
		children: [/* @__PURE__ */ H(U, { name: "good" }), /* @__PURE__ */ H("span", { children: e.empty })]
	});
}
function vc({ item: e }) {
	let t = gc[e.severity] ?? "notice";
	return /* @__PURE__ */ H("li", {
		class: `card tone-${t}`,
		children: [
			/* @__PURE__ */ H("p", {
				class: "kicker",
				children: [
					/* @__PURE__ */ H(U, {
						name: ut(t),
						size: 14
					}),
					/* @__PURE__ */ H("span", {
						class: "badge",
						children: e.severity
					}),
					e.gain && /* @__PURE__ */ H("span", {
						class: "gain",
						children: e.gain
					})
				]
			}),
			/* @__PURE__ */ H("h3", { children: e.title }),
			/* @__PURE__ */ H("p", { children: /* @__PURE__ */ H(K, { text: e.sentence }) }),
			/* @__PURE__ */ H(Hn, { text: e.advice }),
			/* @__PURE__ */ H(Un, {
				lines: e.evidence,
				links: e.links
			})
		]
	});
}
// src/components/Health.tsx
var yc = {
	error: "bad",
	warning: "warning",
	info: "notice"
};
function bc({ block: e }) {
	return e.items.length ? /* @__PURE__ */ H("ul", {
		class: "health",
		children: e.items.map((e) => {
			let t = yc[e.severity] ?? "notice";
			return /* @__PURE__ */ H("li", {
				class: `tone-${t}`,
				children: [/* @__PURE__ */ H(U, { name: ut(t) }), /* @__PURE__ */ H("div", { children: [
					/* @__PURE__ */ H("h3", { children: [
						/* @__PURE__ */ H("span", {
							class: "badge",
							children: e.severity
						}),
						" ",
						e.title,
						e.count > 1 && /* @__PURE__ */ H("span", {
							class: "quiet",
							children: [" × ", J("count", e.count)]
						})
					] }),
					e.told && /* @__PURE__ */ H("p", {
						class: "told",
						children: e.told
					}),
					/* @__PURE__ */ H("p", { children: /* @__PURE__ */ H(K, { text: xc(e.consequence, e.advice) }) })
				] })]
			}, e.code);
		})
	}) : /* @__PURE__ */ H("p", {
		class: "note tone-good",
		children: [/* @__PURE__ */ H(U, { name: "good" }), /* @__PURE__ */ H("span", { children: "Nothing is wrong with the recording." })]
	});
}
function xc(...e) {
	return e.filter(Boolean).map((e) => e[0]?.toUpperCase() + e.slice(1).replace(/\.?$/, ".")).join(" ");
}
function Sc(e, t) {
	return t < 0 ? [0, 1] : [e.from[t], e.to[t]];
}
var Cc = 6;
function wc(e, t, n, r) {
	let i = e.getContext("2d");
	if (!i) return;
	let a = devicePixelRatio || 1, o = e.clientWidth, s = n.depths * 22;
	e.width = Math.round(o * a), e.height = Math.round(s * a), i.scale(a, a), i.font = `12px ${pe("--sans")}`, i.textBaseline = "middle";
	let c = Tc(), l = t.texts.map((e) => !r.search || e.toLowerCase().includes(r.search)), [u, d] = Sc(n, r.zoomed), f = o / (d - u || 1);
	for (let e = 0; e < n.from.length;) {
		let a = Math.max((n.from[e] - u) * f, 0), s = Math.min((n.to[e] - u) * f, o);
		if (s - a < .5) {
			e = n.end[e];
			continue;
		}
		let d = n.depth[e] * 22, p = t.codes[e];
		i.globalAlpha = l[p] ? 1 : .3, i.fillStyle = c.fills[Ec(t.texts[p] ?? "") % Cc], i.fillRect(a, d, Math.max(s - a - 1, .5), 21), s - a > 24 && (i.globalAlpha = l[p] ? 1 : .7, i.fillStyle = c.text, i.fillText(Dc(i, t.texts[p] ?? "", s - a - 9), a + 4, d + 11)), e === r.current && (i.globalAlpha = 1, i.strokeStyle = c.text, i.lineWidth = 2, i.strokeRect(a + 1, d + 1, Math.max(s - a - 3, 1), 19)), e++;
	}
}
function Tc() {
	return {
		fills: Array.from({ length: Cc }, (e, t) => pe(`--icicle-${t + 1}`)),
		text: pe("--text")
	};
}
function Ec(e) {
	let t = 7;
	for (let n = 0; n < e.length; n++) t = t * 31 + e.charCodeAt(n) >>> 0;
	return t;
}
function Dc(e, t, n) {
	if (e.measureText(t).width <= n) return t;
	let [r, i] = [0, t.length];
	for (; r < i;) {
		let a = r + i + 1 >> 1;
		e.measureText(`${t.slice(0, a)}…`).width <= n ? r = a : i = a - 1;
	}
	return r > 1 ? `${t.slice(0, r)}…` : "";
}
// src/components/icicle/layout.ts
function Oc({ parent: e, value: t }) {
	let n = e.length, r = new Uint16Array(n), i = new Int32Array(n), a = new Float64Array(n), o = 0;
	for (let i = 0; i < n; i++) {
		let n = e[i];
		r[i] = n < 0 ? 0 : r[n] + 1, n < 0 ? o += t[i] : a[n] = a[n] + t[i];
	}
	for (let t = n - 1; t >= 0; t--) {
		i[t] = Math.max(i[t], t + 1);
		let n = e[t];
		n >= 0 && (i[n] = Math.max(i[n], i[t]));
	}
	let s = new Float64Array(n), c = new Float64Array(n), l = new Float64Array(n), u = 0;
	for (let r = 0; r < n; r++) {
		let n = e[r];
		if (n < 0) s[r] = u, u = c[r] = u + (o > 0 ? t[r] / o : 0);
		else {
			let e = c[n] - s[n], i = Math.max(t[n], a[n]);
			s[r] = l[n], l[n] = c[r] = s[r] + (i > 0 ? e * t[r] / i : 0);
		}
		l[r] = s[r];
	}
	return {
		from: s,
		to: c,
		depth: r,
		end: i,
		depths: r.reduce((e, t) => Math.max(e, t + 1), 0)
	};
}
function kc(e, t, n) {
	for (let r = 0; r < e.from.length;) if (!(t >= e.from[r] && t < e.to[r])) r = e.end[r];
	else if (e.depth[r] === n) return r;
	else r++;
	return -1;
}
function Ac(e, t) {
	let n = [];
	for (let r = t; r >= 0; r = e[r] ?? -1) n.unshift(r);
	return n;
}
function jc(e, t, n, r) {
	let i = e.parent[n] ?? -1, { end: a, depth: o } = t;
	if (r === "ArrowUp") return i >= 0 ? i : n;
	if (r === "ArrowDown") return a[n] > n + 1 ? n + 1 : n;
	if (r === "ArrowRight") {
		let t = a[n];
		return t < e.parent.length && e.parent[t] === i ? t : n;
	}
	for (let e = n - 1; e > i && e >= 0; e--) if (o[e] === o[n]) return e;
	return n;
}
// src/components/icicle/telling.ts
function Mc(e, t) {
	return e.texts[e.codes[t] ?? -1] ?? "";
}
function Nc(e, t) {
	let n = e.value.reduce((t, n, r) => t + (e.parent[r] === -1 ? n : 0), 0), r = e.value[t] ?? 0;
	return [
		["", J(e.kind, r)],
		["", `${J("share", n > 0 ? r / n : null)} of all`],
		...e.details.map(({ title: e, kind: n, values: r }) => [e, J(n, r[t])])
	];
}
var Pc = 2e3;
function Fc(e) {
	let t = e.value.map((e, t) => t), n = t.length > Pc ? t.sort((t, n) => (e.value[n] ?? 0) - (e.value[t] ?? 0)).slice(0, Pc) : t, r = {
		help: "",
		main: !0,
		bar: !1,
		link: ""
	};
	return {
		type: "table",
		id: `${e.id}-table`,
		title: "",
		rows: n.length,
		total_rows: e.value.length,
		note: "",
		sort: null,
		columns: [
			{
				...r,
				key: "path",
				title: "path",
				kind: "text",
				data: {
					codes: n.map((e, t) => t),
					texts: n.map((t) => Ac(e.parent, t).map((t) => Mc(e, t)).join(" › "))
				}
			},
			{
				...r,
				key: "value",
				title: "total",
				kind: e.kind,
				bar: !0,
				data: { values: n.map((t) => e.value[t] ?? null) }
			},
			...e.details.map(({ title: e, kind: t, values: i }, a) => ({
				...r,
				key: `detail-${a}`,
				title: e,
				kind: t,
				data: { values: n.map((e) => i[e] ?? null) }
			}))
		]
	};
}
// src/components/state.ts
var Ic = I(null);
function Lc(e, t) {
	let n = Me(Ic), [r, i] = z({});
	if (!n) return [r, i];
	let a = n.state[e] ?? {};
	return [a[t] ?? {}, (r) => n.onState({
		...n.state,
		[e]: {
			...a,
			[t]: r
		}
	})];
}
// node_modules/@tanstack/table-core/dist/utils.js
function Rc(e, t) {
	return typeof e == "function" ? e(t) : e;
}
function zc(e) {
	if (Array.isArray(e)) return e.map(zc);
	if (e && typeof e == "object") {
		let t = Object.getPrototypeOf(e);
		if (t !== Object.prototype && t !== null) return e;
		let n = t === null ? Vc() : {}, r = Object.keys(e);
		for (let t = 0; t < r.length; t++) {
			let i = r[t];
			Object.defineProperty(n, i, {
				configurable: !0,
				enumerable: !0,
				value: zc(e[i]),
				writable: !0
			});
		}
		return n;
	}
	return e;
}
function Bc(e, t) {
	let n = Object.keys(t), r = e;
	for (let e = 0; e < n.length; e++) {
		let i = n[e];
		!i.startsWith("_memo_") && i !== "_cellsCache" && (r[i] = t[i]);
	}
	return e;
}
function Vc() {
	return Object.create(null);
}
function Hc(e, t) {
	return Object.prototype.hasOwnProperty.call(e, t);
}
function Uc(e, t) {
	return (n) => {
		(t.options.atoms?.[e] ?? t.baseAtoms[e]).set((e) => Rc(n, e));
	};
}
function Wc(e) {
	if (typeof e != "object" || !e) return !1;
	if (Array.isArray(e)) return !0;
	let t = Object.getPrototypeOf(e);
	return t === Object.prototype || t === null;
}
function Gc(e) {
	return Reflect.ownKeys(e).filter((t) => Object.prototype.propertyIsEnumerable.call(e, t));
}
var Kc = 3;
function qc(e, t) {
	return Jc(e, t, Kc);
}
function Jc(e, t, n) {
	if (Object.is(e, t)) return !0;
	if (n <= 0 || !Wc(e) || !Wc(t) || (Array.isArray(e) || Array.isArray(t)) && (!Array.isArray(e) || !Array.isArray(t) || e.length !== t.length)) return !1;
	let r = Gc(e), i = Gc(t);
	if (r.length !== i.length) return !1;
	let a = e, o = t;
	for (let e = 0; e < r.length; e++) {
		let i = r[e];
		if (!Object.prototype.propertyIsEnumerable.call(t, i) || !Jc(a[i], o[i], n - 1)) return !1;
	}
	return !0;
}
function Yc(e, t, n, r = qc) {
	let i = `on${t.charAt(0).toUpperCase()}${t.slice(1)}Change`, a = e.options[i];
	a && a((e) => {
		let t = Rc(n, e);
		return r(e, t) ? e : t;
	});
}
function Xc(e) {
	return e instanceof Function;
}
function Zc(e, t) {
	let n = [], r = (e) => {
		e.forEach((e) => {
			n.push(e);
			let i = t(e);
			i.length && r(i);
		});
	};
	return r(e), n;
}
var Qc = ({ fn: e, memoDeps: t, onAfterCompare: n, onAfterUpdate: r, onBeforeCompare: i, onBeforeUpdate: a }) => {
	let o = [], s;
	return (c) => {
		i?.();
		let l = t?.(c), u = !l || l.length !== o?.length;
		if (!u && l) {
			for (let e = 0; e < l.length; e++) if (l[e] !== o[e]) {
				u = !0;
				break;
			}
		}
		return n?.(u), u && (o = l, a?.(), s = e(...l ?? []), r?.(s)), s;
	};
};
function $c(e) {
	let t = !1;
	return () => {
		t ? e() : t = !0;
	};
}
function el({ feature: e, fnName: t, objectId: n, onAfterUpdate: r, table: i, ...a }) {
	let o = { onAfterUpdate: r ? () => {
		let { schedule: e, untrack: t } = i._reactivity;
		e(() => t(() => r()));
	} : void 0 };
	return Qc({
		...a,
		...o
	});
}
function tl(e, t = "_") {
	let [n, r] = e.replace(t, " ").split(" ");
	return {
		fnKey: r,
		fnName: `${n}.${r}`,
		parentName: n
	};
}
function nl(e, t, n) {
	for (let [r, { fn: i, memoDeps: a }] of Object.entries(n)) {
		let { fnKey: n, fnName: o } = tl(r);
		t[n] = a ? el({
			memoDeps: a,
			fn: i,
			fnName: o,
			table: t,
			feature: e
		}) : i;
	}
}
function rl(e, t, n, r) {
	for (let [i, { fn: a, memoDeps: o }] of Object.entries(r)) {
		let { fnKey: r, fnName: s } = tl(i);
		if (o) {
			let i = `_memo_${r}`;
			t[r] = function(...t) {
				if (!this[i]) {
					let t = this;
					this[i] = el({
						memoDeps: (e) => o(t, e),
						fn: (...e) => a(t, ...e),
						fnName: s,
						objectId: t.id,
						table: n,
						feature: e
					});
				}
				return this[i](...t);
			};
		} else t[r] = function(...e) {
			return a(this, ...e);
		};
	}
}
function il(e, t, n, ...r) {
	return e[t]?.(...r) ?? n(e, ...r);
}
// node_modules/@tanstack/table-core/dist/core/cells/coreCellsFeature.utils.js
function al(e) {
	return e.row.getValue(e.column.id);
}
function ol(e) {
	return e.getValue() ?? e.table.options.renderFallbackValue;
}
function sl(e) {
	return {
		table: e.table,
		column: e.column,
		row: e.row,
		cell: e,
		getValue: () => e.getValue(),
		renderValue: () => e.renderValue()
	};
}
// node_modules/@tanstack/table-core/dist/core/cells/coreCellsFeature.js
var cl = { assignCellPrototype: (e, t) => {
	rl("coreCellsFeature", e, t, {
		cell_getValue: { fn: (e) => al(e) },
		cell_renderValue: { fn: (e) => ol(e) },
		cell_getContext: {
			fn: (e) => sl(e),
			memoDeps: (e) => [e]
		}
	});
} };
// node_modules/@tanstack/table-core/dist/core/columns/constructColumn.js
function ll(e) {
	if (!e._columnPrototype) {
		e._columnPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignColumnPrototype?.(e._columnPrototype, e);
	}
	return e._columnPrototype;
}
function ul(e, t, n, r) {
	let i = {
		...e.getDefaultColumnDef(),
		...t
	}, a = i.accessorKey, o = a === void 0 ? void 0 : String(a), s = i.id ?? o?.replaceAll(".", "_") ?? (typeof i.header == "string" ? i.header : void 0), c;
	if (i.accessorFn) c = i.accessorFn;
	else if (a !== void 0) {
		if (typeof a == "string" && a.includes(".")) {
			let e = a.split(".");
			c = (t) => {
				let n = t;
				for (let t = 0; t < e.length; t++) {
					let r = e[t];
					n = n?.[r];
				}
				return n;
			};
		} else c = (e) => e[i.accessorKey];
	}
	if (!s) throw Error();
	let l = ll(e), u = Object.create(l);
	u.accessorFn = c, u.columnDef = i, u.columns = [], u.depth = n, u.id = `${String(s)}`, u.parent = r;
	let d = e._columnInstanceInitFns;
	for (let e = 0; e < d.length; e++) d[e](u);
	return u;
}
// node_modules/@tanstack/table-core/dist/core/featureStubs.js
function dl(e) {
	return e.getIsVisible?.() ?? !0;
}
function fl(e) {
	return e.getVisibleLeafColumns?.() ?? e.getAllLeafColumns();
}
function pl(e, t) {
	let n = e, r = t;
	return n.getOrderColumnsFn?.()(r) ?? n._orderGroupedColumns?.(r) ?? t;
}
function ml(e, t, n, r) {
	return e._orderByColumnPinning?.(t, n, r) ?? t;
}
function hl(e) {
	return e.getGlobalFilterFn?.();
}
function gl(e) {
	return e.getCanGlobalFilter?.() ?? !1;
}
function _l(e, t) {
	return e._expandRows?.(t) ?? t;
}
function vl(e) {
	e.autoResetExpanded?.();
}
function yl(e) {
	e.autoResetPageIndex?.();
}
function bl(e) {
	e.autoResetSorting?.();
}
function xl(e) {
	e.autoResetCellSelection?.();
}
// node_modules/@tanstack/table-core/dist/core/columns/coreColumnsFeature.utils.js
function Sl(e) {
	return [e, ...e.columns.flatMap((e) => e.getFlatColumns())];
}
function Cl(e) {
	if (e.columns.length) {
		let t = e.columns.flatMap((e) => e.getLeafColumns());
		return pl(e.table, t);
	}
	return [e];
}
function wl(e) {
	return {
		header: (e) => {
			let t = e.header.column.columnDef;
			return t.accessorKey ? t.accessorKey : t.accessorFn ? t.id : null;
		},
		cell: (e) => e.renderValue()?.toString?.() ?? null,
		...Object.values(e._features).reduce((e, t) => Object.assign(e, t.getDefaultColumnDef?.()), {}),
		...e.options.defaultColumn
	};
}
function Tl(e, t, n, r = 0) {
	let i = Array(t.length);
	for (let a = 0; a < t.length; a++) {
		if (!(a in t)) continue;
		let o = t[a], s = ul(e, o, r, n), c = o;
		s.columns = c.columns ? Tl(e, c.columns, s, r + 1) : [], i[a] = s;
	}
	return i;
}
function El(e) {
	return Tl(e, e.options.columns);
}
function Dl(e) {
	return e.getAllColumns().flatMap((e) => e.getFlatColumns());
}
function Ol(e) {
	let t = Vc(), n = e.getAllFlatColumns();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		t[r.id] = r;
	}
	return t;
}
function kl(e) {
	return pl(e, e.getAllColumns().flatMap((e) => e.getLeafColumns()));
}
function Al(e) {
	let t = Vc(), n = e.getAllLeafColumns();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		t[r.id] = r;
	}
	return t;
}
function jl(e, t) {
	return e.getAllFlatColumnsById()[t];
}
// node_modules/@tanstack/table-core/dist/core/columns/coreColumnsFeature.js
var Ml = {
	assignColumnPrototype: (e, t) => {
		rl("coreColumnsFeature", e, t, {
			column_getFlatColumns: {
				fn: (e) => Sl(e),
				memoDeps: (e) => [e.table.options.columns]
			},
			column_getLeafColumns: {
				fn: (e) => Cl(e),
				memoDeps: (e) => [
					e.table.atoms.columnOrder?.get(),
					e.table.atoms.grouping?.get(),
					e.table.options.columns,
					e.table.options.groupedColumnMode
				]
			}
		});
	},
	constructTableAPIs: (e) => {
		nl("coreColumnsFeature", e, {
			table_getDefaultColumnDef: {
				fn: () => wl(e),
				memoDeps: () => [e.options.defaultColumn]
			},
			table_getAllColumns: {
				fn: () => El(e),
				memoDeps: () => [e.options.columns]
			},
			table_getAllFlatColumns: {
				fn: () => Dl(e),
				memoDeps: () => [e.options.columns]
			},
			table_getAllFlatColumnsById: {
				fn: () => Ol(e),
				memoDeps: () => [e.options.columns]
			},
			table_getAllLeafColumns: {
				fn: () => kl(e),
				memoDeps: () => [
					e.atoms.columnOrder?.get(),
					e.atoms.grouping?.get(),
					e.options.columns,
					e.options.groupedColumnMode
				]
			},
			table_getAllLeafColumnsById: {
				fn: () => Al(e),
				memoDeps: () => [e.getAllLeafColumns()]
			},
			table_getColumn: { fn: (t) => jl(e, t) }
		});
	}
};
// node_modules/@tanstack/table-core/dist/core/headers/constructHeader.js
function Nl(e) {
	if (!e._headerPrototype) {
		e._headerPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignHeaderPrototype?.(e._headerPrototype, e);
	}
	return e._headerPrototype;
}
function Pl(e, t, n) {
	let r = Nl(e), i = Object.create(r);
	i.colSpan = 0, i.column = t, i.depth = n.depth, i.headerGroup = null, i.id = n.id ?? t.id, i.index = n.index, i.isPlaceholder = !!n.isPlaceholder, i.placeholderId = n.placeholderId, i.rowSpan = 0, i.subHeaders = [];
	let a = e._headerInstanceInitFns;
	for (let e = 0; e < a.length; e++) a[e](i);
	return i;
}
// node_modules/@tanstack/table-core/dist/core/headers/buildHeaderGroups.js
function Fl(e, t = 1) {
	let n = t;
	for (let r = 0; r < e.length; r++) {
		let i = e[r];
		dl(i) && i.columns.length && (n = Math.max(n, Fl(i.columns, t + 1)));
	}
	return n;
}
function Il(e, t) {
	return e ? `${e}_${t}` : String(t);
}
function Ll(e, t, n, r) {
	let i = e ?? "";
	return t && (i = i ? `${i}_${t}` : String(t)), n && (i = i ? `${i}_${n}` : n), r && (i = i ? `${i}_${r}` : r), i;
}
function Rl(e, t) {
	let n = 0;
	for (let r = 0; r < e.length; r++) e[r].column === t && n++;
	return n;
}
function zl(e, t, n, r, i, a) {
	let o = {
		depth: t,
		id: Il(r, t),
		headers: []
	}, s = [];
	for (let i = 0; i < e.length; i++) {
		if (!(i in e)) continue;
		let a = e[i], c = s[s.length - 1], l = a.column.depth === o.depth, u, d = !1;
		if (l && a.column.parent ? u = a.column.parent : (u = a.column, d = !0), c && c.column === u) c.subHeaders.push(a);
		else {
			let e = Pl(n, u, {
				id: Ll(r, t, u.id, a.id),
				isPlaceholder: d,
				placeholderId: d ? String(Rl(s, u)) : void 0,
				depth: t,
				index: s.length
			});
			e.subHeaders.push(a), s.push(e);
		}
		o.headers.push(a), a.headerGroup = o;
	}
	for (let e = 0; e < a.length; e++) a[e](o);
	i.push(o), t > 0 && zl(s, t - 1, n, r, i, a);
}
function Bl(e) {
	for (let t = 0; t < e.length; t++) {
		let n = e[t];
		if (!dl(n.column)) continue;
		let r = 0;
		if (n.subHeaders.length) {
			Bl(n.subHeaders);
			for (let e = 0; e < n.subHeaders.length; e++) {
				let t = n.subHeaders[e];
				dl(t.column) && (r += t.colSpan);
			}
		} else r = 1;
		if (n.colSpan = r, n.isPlaceholder && n.subHeaders.length === 1 && n.subHeaders[0].column === n.column) {
			let e = 1, t = n.subHeaders[0];
			for (; t;) t.rowSpan = 0, e++, t = t.subHeaders.length === 1 && t.subHeaders[0].column === n.column ? t.subHeaders[0] : void 0;
			n.rowSpan = e;
		} else n.rowSpan = 1;
	}
}
function Vl(e, t, n, r) {
	let i = Fl(e), a = [], o = n._headerGroupInstanceInitFns, s = Array(t.length);
	for (let e = 0; e < t.length; e++) e in t && (s[e] = Pl(n, t[e], {
		depth: i,
		index: e
	}));
	return zl(s, i - 1, n, r, a, o), a.reverse(), Bl(a[0]?.headers ?? []), a;
}
// node_modules/@tanstack/table-core/dist/core/headers/coreHeadersFeature.utils.js
function Hl(e, t) {
	for (let n = 0; n < e.subHeaders.length; n++) Hl(e.subHeaders[n], t);
	t.push(e);
}
function Ul(e) {
	let t = [];
	return Hl(e, t), t;
}
function Wl(e) {
	return {
		column: e.column,
		header: e,
		table: e.column.table
	};
}
function Gl(e) {
	return Vl(e.getAllColumns(), ml(e, fl(e), (e) => e.id), e);
}
function Kl(e) {
	return [...e.getHeaderGroups()].reverse();
}
function ql(e) {
	let t = e.getHeaderGroups(), n = [];
	for (let e = 0; e < t.length; e++) {
		let r = t[e].headers;
		for (let e = 0; e < r.length; e++) n.push(r[e]);
	}
	return n;
}
function Jl(e) {
	let t = e.getHeaderGroups()[0]?.headers ?? [], n = [];
	for (let e = 0; e < t.length; e++) {
		let r = t[e].getLeafHeaders();
		for (let e = 0; e < r.length; e++) n.push(r[e]);
	}
	return n;
}
// node_modules/@tanstack/table-core/dist/core/headers/coreHeadersFeature.js
var Yl = {
	assignHeaderPrototype: (e, t) => {
		rl("coreHeadersFeature", e, t, {
			header_getLeafHeaders: {
				fn: (e) => Ul(e),
				memoDeps: (e) => [e.column.table.options.columns]
			},
			header_getContext: {
				fn: (e) => Wl(e),
				memoDeps: (e) => [e.column.table.options.columns]
			}
		});
	},
	constructTableAPIs: (e) => {
		nl("coreHeadersFeature", e, {
			table_getHeaderGroups: {
				fn: () => Gl(e),
				memoDeps: () => [
					e.options.columns,
					e.atoms.columnOrder?.get(),
					e.atoms.grouping?.get(),
					e.atoms.columnPinning?.get(),
					e.atoms.columnVisibility?.get(),
					e.options.groupedColumnMode
				]
			},
			table_getFooterGroups: {
				fn: () => Kl(e),
				memoDeps: () => [e.getHeaderGroups()]
			},
			table_getFlatHeaders: {
				fn: () => ql(e),
				memoDeps: () => [e.getHeaderGroups()]
			},
			table_getLeafHeaders: {
				fn: () => Jl(e),
				memoDeps: () => [e.getHeaderGroups()]
			}
		});
	}
};
// node_modules/@tanstack/table-core/dist/core/rows/constructRow.js
function Xl(e) {
	if (!e._rowPrototype) {
		e._rowPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignRowPrototype?.(e._rowPrototype, e);
	}
	return e._rowPrototype;
}
var Zl = (e, t, n, r, i, a, o) => {
	let s = Xl(e), c = Object.create(s);
	c._displayIndexCache = -1, c._uniqueValuesCache = Vc(), c._valuesCache = Vc(), c.depth = i, c.id = t, c.index = r, c.original = n, c.parentId = o, c.subRows = a ?? [];
	let l = e._rowInstanceInitFns;
	for (let e = 0; e < l.length; e++) l[e](c);
	return c;
};
// node_modules/@tanstack/table-core/dist/core/row-models/createCoreRowModel.js
function Ql() {
	return (e) => el({
		feature: "coreRowModelsFeature",
		table: e,
		fnName: "table.getCoreRowModel",
		memoDeps: () => [e.options.data],
		fn: () => eu(e, e.options.data),
		onAfterUpdate: $c(() => {
			vl(e), yl(e), bl(e), xl(e);
		})
	});
}
function $l(e, t, n, r = 0, i) {
	let a = [];
	for (let o = 0; o < n.length; o++) {
		let s = n[o], c = Zl(e, e.getRowId(s, o, i), s, o, r, void 0, i?.id);
		t.flatRows.push(c), t.rowsById[c.id] = c, a.push(c), e.options.getSubRows && (c.originalSubRows = e.options.getSubRows(s, o), c.originalSubRows?.length && (c.subRows = $l(e, t, c.originalSubRows, r + 1, c)));
	}
	return a;
}
function eu(e, t) {
	let n = {
		rows: [],
		flatRows: [],
		rowsById: Vc()
	};
	return n.rows = $l(e, n, t), n;
}
// node_modules/@tanstack/table-core/dist/core/row-models/coreRowModelsFeature.utils.js
function tu(e) {
	return e._rowModels.coreRowModel || (e._rowModels.coreRowModel = e.options.features.coreRowModel?.(e) ?? Ql()(e)), e._rowModels.coreRowModel();
}
function nu(e) {
	return e.getCoreRowModel();
}
function ru(e) {
	return e._rowModels.filteredRowModel || (e._rowModels.filteredRowModel = e.options.features.filteredRowModel?.(e)), e.options.manualFiltering || !e._rowModels.filteredRowModel ? e.getPreFilteredRowModel() : e._rowModels.filteredRowModel();
}
function iu(e) {
	return e.getFilteredRowModel();
}
function au(e) {
	return e._rowModels.groupedRowModel || (e._rowModels.groupedRowModel = e.options.features.groupedRowModel?.(e)), e.options.manualGrouping || !e._rowModels.groupedRowModel ? e.getPreGroupedRowModel() : e._rowModels.groupedRowModel();
}
function ou(e) {
	return e.getGroupedRowModel();
}
function su(e) {
	return e._rowModels.sortedRowModel || (e._rowModels.sortedRowModel = e.options.features.sortedRowModel?.(e)), e.options.manualSorting || !e._rowModels.sortedRowModel ? e.getPreSortedRowModel() : e._rowModels.sortedRowModel();
}
function cu(e) {
	return e.getSortedRowModel();
}
function lu(e) {
	return e._rowModels.expandedRowModel || (e._rowModels.expandedRowModel = e.options.features.expandedRowModel?.(e)), e.options.manualExpanding || !e._rowModels.expandedRowModel ? e.getPreExpandedRowModel() : e._rowModels.expandedRowModel();
}
function uu(e) {
	return e.getExpandedRowModel();
}
function du(e) {
	return e._rowModels.paginatedRowModel || (e._rowModels.paginatedRowModel = e.options.features.paginatedRowModel?.(e)), e.options.manualPagination || !e._rowModels.paginatedRowModel ? e.getPrePaginatedRowModel() : e._rowModels.paginatedRowModel();
}
function fu(e) {
	return e.getPaginatedRowModel();
}
// node_modules/@tanstack/table-core/dist/core/row-models/coreRowModelsFeature.js
var pu = { constructTableAPIs: (e) => {
	nl("coreRowModelsFeature", e, {
		table_getCoreRowModel: { fn: () => tu(e) },
		table_getPreFilteredRowModel: { fn: () => nu(e) },
		table_getFilteredRowModel: { fn: () => ru(e) },
		table_getPreGroupedRowModel: { fn: () => iu(e) },
		table_getGroupedRowModel: { fn: () => au(e) },
		table_getPreSortedRowModel: { fn: () => ou(e) },
		table_getSortedRowModel: { fn: () => su(e) },
		table_getPreExpandedRowModel: { fn: () => cu(e) },
		table_getExpandedRowModel: { fn: () => lu(e) },
		table_getPrePaginatedRowModel: { fn: () => uu(e) },
		table_getPaginatedRowModel: { fn: () => du(e) },
		table_getRowModel: { fn: () => fu(e) }
	});
} };
// node_modules/@tanstack/table-core/dist/core/cells/constructCell.js
function mu(e) {
	if (!e._cellPrototype) {
		e._cellPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignCellPrototype?.(e._cellPrototype, e);
	}
	return e._cellPrototype;
}
function hu(e, t, n) {
	let r = mu(n), i = Object.create(r);
	i.column = e, i.id = `${t.id}_${e.id}`, i.row = t;
	let a = n._cellInstanceInitFns;
	for (let e = 0; e < a.length; e++) a[e](i);
	return i;
}
// node_modules/@tanstack/table-core/dist/core/rows/coreRowsFeature.utils.js
function gu(e) {
	let t = e.table.getRowsInDisplayOrder(), n = e._displayIndexCache;
	return t[n] === e ? n : -1;
}
function _u(e) {
	let t = e.getPrePaginatedRowModel(), n = e.options.paginateExpandedRows === !1 ? _l(e, t).rows : t.rows;
	for (let e = 0; e < n.length; e++) n[e]._displayIndexCache = e;
	return n;
}
function vu(e, t) {
	if (Hc(e._valuesCache, t)) return e._valuesCache[t];
	let n = e.table.getColumn(t);
	if (n?.accessorFn) return e._valuesCache[t] = n.accessorFn(e.original, e.index), e._valuesCache[t];
}
function yu(e, t) {
	if (Hc(e._uniqueValuesCache, t)) return e._uniqueValuesCache[t];
	let n = e.table.getColumn(t);
	if (n?.accessorFn) return n.columnDef.getUniqueValues ? (e._uniqueValuesCache[t] = n.columnDef.getUniqueValues(e.original, e.index), e._uniqueValuesCache[t]) : (e._uniqueValuesCache[t] = [e.getValue(t)], e._uniqueValuesCache[t]);
}
function bu(e, t) {
	return e.getValue(t) ?? e.table.options.renderFallbackValue;
}
function xu(e) {
	return Zc(e.subRows, (e) => e.subRows);
}
function Su(e) {
	let t = e.getCoreRowModel().flatRows, n = 0;
	for (let e = 0; e < t.length; e++) n = Math.max(n, t[e].depth);
	return n;
}
function Cu(e) {
	if (e.parentId) return e.table.getCoreRowModel().rowsById[e.parentId] ?? e.table.getRow(e.parentId, !0);
}
function wu(e) {
	let t = [], n = e;
	for (;;) {
		let e = n.getParentRow();
		if (!e) break;
		t.push(e), n = e;
	}
	return t.reverse();
}
function Tu(e) {
	let t = e.table.getAllLeafColumns(), n = e._cellsCache;
	n ||= e._cellsCache = /* @__PURE__ */ new WeakMap();
	let r = Array(t.length);
	for (let i = 0; i < t.length; i++) {
		let a = t[i], o = n.get(a);
		o || (o = hu(a, e, e.table), n.set(a, o)), r[i] = o;
	}
	return r;
}
function Eu(e) {
	let t = Vc(), n = e.getAllCells();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		t[r.column.id] = r;
	}
	return t;
}
function Du(e, t, n, r) {
	return t.options.getRowId?.(e, n, r) ?? (r ? `${r.id}.${n}` : String(n));
}
function Ou(e, t, n) {
	let r = (n ? e.getPrePaginatedRowModel() : e.getRowModel()).rowsById[t];
	if (!r && (r = e.getCoreRowModel().rowsById[t], !r)) throw Error();
	return r;
}
// node_modules/@tanstack/table-core/dist/core/rows/coreRowsFeature.js
var ku = {
	assignRowPrototype: (e, t) => {
		rl("coreRowsFeature", e, t, {
			row_getDisplayIndex: { fn: (e) => gu(e) },
			row_getAllCellsByColumnId: {
				fn: (e) => Eu(e),
				memoDeps: (e) => [e.getAllCells()]
			},
			row_getAllCells: {
				fn: (e) => Tu(e),
				memoDeps: (e) => [e.table.getAllLeafColumns()]
			},
			row_getLeafRows: {
				fn: (e) => xu(e),
				memoDeps: (e) => [e.subRows]
			},
			row_getParentRow: { fn: (e) => Cu(e) },
			row_getParentRows: { fn: (e) => wu(e) },
			row_getUniqueValues: { fn: (e, t) => yu(e, t) },
			row_getValue: { fn: (e, t) => vu(e, t) },
			row_renderValue: { fn: (e, t) => bu(e, t) }
		});
	},
	constructTableAPIs: (e) => {
		nl("coreRowsFeature", e, {
			table_getRowsInDisplayOrder: {
				fn: () => _u(e),
				memoDeps: () => [
					e.getPrePaginatedRowModel().rows,
					e.options.paginateExpandedRows,
					e.options.paginateExpandedRows === !1 ? e.atoms.expanded?.get() : void 0
				]
			},
			table_getRowId: { fn: (t, n, r) => Du(t, e, n, r) },
			table_getRow: { fn: (t, n) => Ou(e, t, n) },
			table_getMaxSubRowDepth: {
				fn: () => Su(e),
				memoDeps: () => [e.getCoreRowModel()]
			}
		});
	}
};
// node_modules/@tanstack/table-core/dist/core/table/coreTablesFeature.utils.js
function Au(e, t, n = (e, t) => e === t) {
	let r = t === void 0 ? e.options.state : t;
	e._reactivity.batch(() => {
		if (r) for (let t in r) {
			let i = e.baseAtoms[t];
			if (!i) continue;
			let a = r[t], o = a === void 0 ? e.initialState[t] : a;
			n(e._reactivity.untrack(() => i.get()), o) || i.set(() => o);
		}
	});
}
function ju(e, t, n = (e, t) => e === t) {
	e._reactivity.batch(() => {
		Au(e, t, n), e._reactivity.commit?.();
	});
}
function Mu(e) {
	let t = zc(e.initialState);
	e._reactivity.batch(() => {
		let n = Object.keys(t);
		for (let r = 0; r < n.length; r++) {
			let i = n[r];
			e.baseAtoms[i].set(t[i]);
		}
	});
	let n = Object.values(e._features);
	for (let t = 0; t < n.length; t++) n[t].resetTableInstanceData?.(e);
}
function Nu(e, t) {
	let { features: n, atoms: r, initialState: i } = e.options;
	if (!e.options.mergeOptions) return {
		...e.options,
		...t,
		features: n,
		atoms: r,
		initialState: i
	};
	let a = e.options.mergeOptions(e.options, t), o = { ...Object.getOwnPropertyDescriptors(a) };
	return Object.defineProperties(Object.create(Object.getPrototypeOf(a)), {
		...o,
		features: {
			value: n,
			enumerable: !0,
			configurable: !0,
			writable: !0
		},
		atoms: {
			value: r,
			enumerable: !0,
			configurable: !0,
			writable: !0
		},
		initialState: {
			value: i,
			enumerable: !0,
			configurable: !0,
			writable: !0
		}
	});
}
function Pu(e, t, n) {
	let r = Nu(e, Rc(t, e.options));
	e.optionsStore ? e.optionsStore.set(() => r) : e.options = r, n?.syncExternalState !== !1 && ju(e, r.state ?? null);
}
// node_modules/@tanstack/table-core/dist/core/coreFeatures.js
var Fu = {
	coreCellsFeature: cl,
	coreColumnsFeature: Ml,
	coreHeadersFeature: Yl,
	coreRowModelsFeature: pu,
	coreRowsFeature: ku,
	coreTablesFeature: { constructTableAPIs: (e) => {
		nl("coreTablesFeature", e, {
			table_reset: { fn: () => Mu(e) },
			table_setOptions: { fn: (t) => Pu(e, t) }
		});
	} }
};
// node_modules/@tanstack/table-core/dist/helpers/tableFeatures.js
function Iu(e) {
	return e;
}
// node_modules/@tanstack/table-core/dist/core/reactivity/coreReactivityFeature.utils.js
function Lu(e) {
	let t = e;
	return Object.defineProperty(e, "state", { get() {
		return e.get();
	} }), "set" in e && (t.setState = e.set.bind(e)), t;
}
// node_modules/@tanstack/store/dist/alien.js
/* @__NO_SIDE_EFFECTS__ */
function Ru({ update: e, notify: t, unwatched: n }) {
	return {
		link: r,
		unlink: i,
		propagate: a,
		checkDirty: o,
		shallowPropagate: s
	};
	function r(e, t, n) {
		let r = t.depsTail;
		if (r !== void 0 && r.dep === e) return;
		let i = r === void 0 ? t.deps : r.nextDep;
		if (i !== void 0 && i.dep === e) {
			i.version = n, t.depsTail = i;
			return;
		}
		let a = e.subsTail;
		if (a !== void 0 && a.version === n && a.sub === t) return;
		let o = t.depsTail = e.subsTail = {
			version: n,
			dep: e,
			sub: t,
			prevDep: r,
			nextDep: i,
			prevSub: a,
			nextSub: void 0
		};
		i !== void 0 && (i.prevDep = o), r === void 0 ? t.deps = o : r.nextDep = o, a === void 0 ? e.subs = o : a.nextSub = o;
	}
	function i(e, t = e.sub) {
		let r = e.dep, i = e.prevDep, a = e.nextDep, o = e.nextSub, s = e.prevSub;
		return a === void 0 ? t.depsTail = i : a.prevDep = i, i === void 0 ? t.deps = a : i.nextDep = a, o === void 0 ? r.subsTail = s : o.prevSub = s, s === void 0 ? (r.subs = o) === void 0 && n(r) : s.nextSub = o, a;
	}
	function a(e) {
		let n = e.nextSub, r;
		top: do {
			let i = e.sub, a = i.flags;
			if (a & 60 ? a & 12 ? a & 4 ? !(a & 48) && c(e, i) ? (i.flags = a | 40, a &= 1) : a = 0 : i.flags = a & -9 | 32 : a = 0 : i.flags = a | 32, a & 2 && t(i), a & 1) {
				let t = i.subs;
				if (t !== void 0) {
					let i = (e = t).nextSub;
					i !== void 0 && (r = {
						value: n,
						prev: r
					}, n = i);
					continue;
				}
			}
			if ((e = n) !== void 0) n = e.nextSub;
			else {
				for (; r !== void 0;) if (e = r.value, r = r.prev, e !== void 0) {
					n = e.nextSub;
					continue top;
				}
				break;
			}
		} while (1);
	}
	function o(t, n) {
		let r, i = 0, a = !1;
		top: do {
			let o = t.dep, c = o.flags;
			if (n.flags & 16) a = !0;
			else if ((c & 17) == 17) {
				if (e(o)) {
					let e = o.subs;
					e.nextSub !== void 0 && s(e), a = !0;
				}
			} else if ((c & 33) == 33) {
				(t.nextSub !== void 0 || t.prevSub !== void 0) && (r = {
					value: t,
					prev: r
				}), t = o.deps, n = o, ++i;
				continue;
			}
			if (!a) {
				let e = t.nextDep;
				if (e !== void 0) {
					t = e;
					continue;
				}
			}
			for (; i--;) {
				let i = n.subs, o = i.nextSub !== void 0;
				if (o ? (t = r.value, r = r.prev) : t = i, a) {
					if (e(n)) {
						o && s(i), n = t.sub;
						continue;
					}
					a = !1;
				} else n.flags &= -33;
				n = t.sub;
				let c = t.nextDep;
				if (c !== void 0) {
					t = c;
					continue top;
				}
			}
			return a;
		} while (1);
	}
	function s(e) {
		do {
			let n = e.sub, r = n.flags;
			(r & 48) == 32 && (n.flags = r | 16, (r & 6) == 2 && t(n));
		} while ((e = e.nextSub) !== void 0);
	}
	function c(e, t) {
		let n = t.depsTail;
		for (; n !== void 0;) {
			if (n === e) return !0;
			n = n.prevDep;
		}
		return !1;
	}
}
// node_modules/@tanstack/store/dist/atom.js
function zu(e, t, n) {
	let r = typeof e == "object", i = r ? e : void 0;
	return {
		next: (r ? e.next : e)?.bind(i),
		error: (r ? e.error : t)?.bind(i),
		complete: (r ? e.complete : n)?.bind(i)
	};
}
var Bu = [], Vu = 0, { link: Hu, unlink: Uu, propagate: Wu, checkDirty: Gu, shallowPropagate: Ku } = /* @__PURE__ */ Ru({
	update(e) {
		return e._update();
	},
	notify(e) {
		Bu[Ju++] = e, e.flags &= -3;
	},
	unwatched(e) {
		e.depsTail !== void 0 && (e.depsTail = void 0, e.flags = 17, Qu(e));
	}
}), qu = 0, Ju = 0, Yu, Xu = 0;
function Zu(e) {
	try {
		++Xu, e();
	} finally {
		--Xu || $u();
	}
}
function Qu(e) {
	let t = e.depsTail, n = t === void 0 ? e.deps : t.nextDep;
	for (; n !== void 0;) n = Uu(n, e);
}
function $u() {
	if (!(Xu > 0)) {
		for (; qu < Ju;) {
			let e = Bu[qu];
			Bu[qu++] = void 0, e.notify();
		}
		qu = 0, Ju = 0;
	}
}
function ed(e, t) {
	let n = typeof e == "function", r = e, i = {
		_snapshot: n ? void 0 : e,
		subs: void 0,
		subsTail: void 0,
		deps: void 0,
		depsTail: void 0,
		flags: +!n,
		get() {
			return Yu !== void 0 && Hu(i, Yu, Vu), i._snapshot;
		},
		subscribe(e) {
			let t = zu(e), n = { current: !1 }, r = td(() => {
				i.get(), n.current ? (Yu = void 0, t.next?.(i._snapshot)) : n.current = !0;
			});
			return { unsubscribe: () => {
				r.stop();
			} };
		},
		_update(e) {
			let a = Yu, o = t?.compare ?? Object.is;
			if (n) Yu = i, ++Vu, i.depsTail = void 0;
			else if (e === void 0) return !1;
			n && (i.flags = 5);
			try {
				let t = i._snapshot, a = typeof e == "function" ? e(t) : e === void 0 && n ? r(t) : e;
				return t === void 0 || !o(t, a) ? (i._snapshot = a, !0) : !1;
			} finally {
				Yu = a, n && (i.flags &= -5), Qu(i);
			}
		}
	};
	return n ? (i.flags = 17, i.get = function() {
		let e = i.flags;
		if (e & 16 || e & 32 && Gu(i.deps, i)) {
			if (i._update()) {
				let e = i.subs;
				e !== void 0 && Ku(e);
			}
		} else e & 32 && (i.flags = e & -33);
		return Yu !== void 0 && Hu(i, Yu, Vu), i._snapshot;
	}) : i.set = function(e) {
		if (i._update(e)) {
			let e = i.subs;
			e !== void 0 && (Wu(e), Ku(e), $u());
		}
	}, i;
}
function td(e) {
	let t = () => {
		let t = Yu;
		Yu = n, ++Vu, n.depsTail = void 0, n.flags = 6;
		try {
			return e();
		} finally {
			Yu = t, n.flags &= -5, Qu(n);
		}
	}, n = {
		deps: void 0,
		depsTail: void 0,
		subs: void 0,
		subsTail: void 0,
		flags: 6,
		notify() {
			let e = this.flags;
			e & 16 || e & 32 && Gu(this.deps, this) ? t() : this.flags = 2;
		},
		stop() {
			this.flags = 0, this.depsTail = void 0, Qu(this);
		}
	};
	return t(), n;
}
// node_modules/@tanstack/store/dist/shallow.js
function nd(e, t) {
	if (Object.is(e, t)) return !0;
	if (typeof e != "object" || !e || typeof t != "object" || !t) return !1;
	if (e instanceof Map && t instanceof Map) {
		if (e.size !== t.size) return !1;
		for (let [n, r] of e) if (!t.has(n) || !Object.is(r, t.get(n))) return !1;
		return !0;
	}
	if (e instanceof Set && t instanceof Set) {
		if (e.size !== t.size) return !1;
		for (let n of e) if (!t.has(n)) return !1;
		return !0;
	}
	if (e instanceof Date && t instanceof Date) return e.getTime() === t.getTime();
	let n = rd(e);
	if (n.length !== rd(t).length) return !1;
	for (let r = 0; r < n.length; r++) if (!Object.prototype.hasOwnProperty.call(t, n[r]) || !Object.is(e[n[r]], t[n[r]])) return !1;
	return !0;
}
function rd(e) {
	return Object.keys(e).concat(Object.getOwnPropertySymbols(e));
}
// node_modules/@tanstack/table-core/dist/core/table/constructTable.js
function id(e, t = {}) {
	return Object.values(e).forEach((e) => {
		t = e.getInitialState?.(t) ?? t;
	}), zc(t);
}
function ad(e) {
	let t = e.features.coreReactivityFeature, { aggregationFns: n, columnMeta: r, coreRowModel: i, expandedRowModel: a, facetedMinMaxValues: o, facetedRowModel: s, facetedUniqueValues: c, filterFns: l, filterMeta: u, filteredRowModel: d, groupedRowModel: f, paginatedRowModel: p, sortFns: m, sortedRowModel: h, tableMeta: g, ..._ } = e.features, v = {
		_cellInstanceInitFns: [],
		_columnInstanceInitFns: [],
		_features: {
			...Fu,
			..._
		},
		_headerGroupInstanceInitFns: [],
		_headerInstanceInitFns: [],
		_reactivity: t,
		_rowInstanceInitFns: [],
		_rowModelFns: {
			aggregationFns: n,
			filterFns: l,
			sortFns: m
		},
		_rowModels: {},
		atoms: {},
		baseAtoms: {}
	}, y = Object.values(v._features), b = {
		...y.reduce((e, t) => Object.assign(e, t.getDefaultTableOptions?.(v)), {}),
		...e
	};
	if (t.wrapExternalAtoms && b.atoms) for (let [e, n] of Object.entries(b.atoms)) {
		let r = n, i = t.createWritableAtom(r.get(), { debugName: `externalAtom/${e}` });
		b.atoms[e] = i;
		let a = !1, o = r.subscribe((e) => {
			a || i.set(e);
		}), s = i.subscribe((e) => {
			a = !0, r.set(e), a = !1;
		});
		t.addSubscription(o), t.addSubscription(s);
	}
	t.createOptionsStore ? (v.optionsStore = t.createWritableAtom(b, { debugName: "table/optionsStore" }), Object.defineProperty(v, "options", {
		configurable: !0,
		enumerable: !0,
		get() {
			return v.optionsStore.get();
		},
		set(e) {
			v.optionsStore.set(() => e);
		}
	})) : v.options = b, v.initialState = id(v._features, v.options.initialState);
	let x = Object.keys(v.initialState);
	for (let e = 0; e < x.length; e++) {
		let n = x[e];
		v.baseAtoms[n] = t.createWritableAtom(v.initialState[n], { debugName: `table/baseAtoms/${n}` }), v.atoms[n] = t.createReadonlyAtom(() => {
			let e = v.options, t = e.atoms?.[n], r = t ? t.get() : v.baseAtoms[n].get();
			if (t) return r;
			let i = e.state;
			if (i && Hc(i, n)) {
				let e = i[n];
				return e === void 0 ? v.initialState[n] : e;
			}
			return r;
		}, { debugName: `table/atoms/${n}` });
	}
	Au(v), v.store = Lu(t.createReadonlyAtom(() => {
		let e = {};
		for (let t = 0; t < x.length; t++) {
			let n = x[t];
			e[n] = v.atoms[n].get();
		}
		return e;
	}, {
		compare: nd,
		debugName: "table/store"
	}));
	for (let e = 0; e < y.length; e++) {
		let t = y[e];
		t.initTableInstanceData?.(v), t.initCellInstanceData && v._cellInstanceInitFns.push(t.initCellInstanceData.bind(t)), t.initColumnInstanceData && v._columnInstanceInitFns.push(t.initColumnInstanceData.bind(t)), t.initHeaderGroupInstanceData && v._headerGroupInstanceInitFns.push(t.initHeaderGroupInstanceData.bind(t)), t.initHeaderInstanceData && v._headerInstanceInitFns.push(t.initHeaderInstanceData.bind(t)), t.initRowInstanceData && v._rowInstanceInitFns.push(t.initRowInstanceData.bind(t)), t.constructTableAPIs?.(v);
	}
	return v;
}
// node_modules/@tanstack/table-core/dist/features/column-filtering/columnFilteringFeature.utils.js
function od() {
	return [];
}
function sd(e) {
	let t = e.table._rowModelFns.filterFns, n = e.table.getCoreRowModel().flatRows, r;
	for (let t = 0; t < n.length; t++) {
		let i = n[t].getValue(e.id);
		if (i != null) {
			r = i;
			break;
		}
	}
	let i;
	return i = typeof r == "string" ? "includesString" : typeof r == "number" ? "inNumberRange" : typeof r == "boolean" ? "equals" : Array.isArray(r) ? "arrIncludes" : Object.prototype.toString.call(r) === "[object Date]" ? "inDateRange" : typeof r == "object" && r ? "equals" : "weakEquals", t?.[i];
}
function cd(e) {
	let t = null, n = e.table._rowModelFns.filterFns;
	return t = Xc(e.columnDef.filterFn) ? e.columnDef.filterFn : e.columnDef.filterFn === "auto" ? sd(e) : n?.[e.columnDef.filterFn], t ?? void 0;
}
function ld(e) {
	return (e.columnDef.enableColumnFilter ?? !0) && (e.table.options.enableColumnFilters ?? !0) && (e.table.options.enableFilters ?? !0) && !!e.accessorFn;
}
function ud(e) {
	return fd(e) > -1;
}
function dd(e) {
	return e.table.atoms.columnFilters?.get()?.find((t) => t.id === e.id)?.value;
}
function fd(e) {
	return e.table.atoms.columnFilters?.get()?.findIndex((t) => t.id === e.id) ?? -1;
}
function pd(e, t) {
	md(e.table, (n) => {
		let r = cd(e), i = n.find((t) => t.id === e.id), a = Rc(t, i ? i.value : void 0);
		if (gd(r, a, e)) return n.filter((t) => t.id !== e.id);
		let o = {
			id: e.id,
			value: a
		};
		return i ? n.map((t) => t.id === e.id ? o : t) : n.length ? [...n, o] : [o];
	});
}
function md(e, t) {
	let n = e.getAllLeafColumnsById();
	Yc(e, "columnFilters", (e) => Rc(t, e).filter((e) => {
		let t = n[e.id];
		return !(t && gd(cd(t), e.value, t));
	}));
}
function hd(e, t) {
	md(e, t ? [] : zc(e.initialState.columnFilters ?? []));
}
function gd(e, t, n) {
	return t === void 0 ? !0 : e?.autoRemove ? !!e.autoRemove(t, n) : typeof t == "string" && !t;
}
// node_modules/@tanstack/table-core/dist/features/column-filtering/columnFilteringFeature.js
var _d = {
	getInitialState: (e) => ({
		columnFilters: od(),
		...e
	}),
	getDefaultColumnDef: () => ({ filterFn: "auto" }),
	getDefaultTableOptions: (e) => ({
		onColumnFiltersChange: Uc("columnFilters", e),
		filterFromLeafRows: !1,
		maxLeafRowFilterDepth: 100
	}),
	assignColumnPrototype: (e, t) => {
		rl("columnFilteringFeature", e, t, {
			column_getAutoFilterFn: { fn: (e) => sd(e) },
			column_getFilterFn: { fn: (e) => cd(e) },
			column_getCanFilter: { fn: (e) => ld(e) },
			column_getIsFiltered: { fn: (e) => ud(e) },
			column_getFilterValue: { fn: (e) => dd(e) },
			column_getFilterIndex: { fn: (e) => fd(e) },
			column_setFilterValue: { fn: (e, t) => pd(e, t) }
		});
	},
	initRowInstanceData: (e) => {
		e.columnFilters = Vc(), e.columnFiltersMeta = Vc();
	},
	constructTableAPIs: (e) => {
		nl("columnFilteringFeature", e, {
			table_setColumnFilters: { fn: (t) => md(e, t) },
			table_resetColumnFilters: { fn: (t) => hd(e, t) }
		});
	}
};
// node_modules/@tanstack/table-core/dist/features/column-visibility/columnVisibilityFeature.utils.js
function vd() {
	return Vc();
}
function yd(e, t) {
	xd(e) && Dd(e.table, (n) => {
		let r = Object.assign(Vc(), n), i = t ?? !il(e, "getIsVisible", bd), a = e.getLeafColumns();
		for (let e = 0; e < a.length; e++) {
			let t = a[e];
			xd(t) && (r[t.id] = i);
		}
		return r;
	});
}
function bd(e) {
	let t = e.table.atoms.columnVisibility?.get();
	if (!t) return !0;
	let n = e.columns;
	return n.length ? n.some((e) => il(e, "getIsVisible", bd)) : (Hc(t, e.id) ? t[e.id] : void 0) ?? !0;
}
function xd(e) {
	return (e.columnDef.enableHiding ?? !0) && (e.table.options.enableHiding ?? !0);
}
function Sd(e) {
	return (t) => {
		yd(e, t.target.checked);
	};
}
function Cd(e) {
	let t = e.getAllCells(), n = [];
	for (let e = 0; e < t.length; e++) {
		let r = t[e];
		il(r.column, "getIsVisible", bd) && n.push(r);
	}
	return ml(e.table, n, (e) => e.column.id, () => il(e, "getVisibleCellsByColumnId", wd));
}
function wd(e) {
	let t = Vc(), n = e.getAllCells();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		il(r.column, "getIsVisible", bd) && (t[r.column.id] = r);
	}
	return t;
}
function Td(e) {
	return e.getAllFlatColumns().filter((e) => il(e, "getIsVisible", bd));
}
function Ed(e) {
	return e.getAllLeafColumns().filter((e) => il(e, "getIsVisible", bd));
}
function Dd(e, t) {
	Yc(e, "columnVisibility", t);
}
function Od(e, t) {
	Dd(e, t ? Vc() : Object.assign(Vc(), zc(e.initialState.columnVisibility ?? {})));
}
function kd(e, t) {
	t ??= !Ad(e);
	let n = Vc(), r = e.getAllLeafColumns();
	for (let e = 0; e < r.length; e++) {
		let i = r[e];
		n[i.id] = t || !xd(i);
	}
	Dd(e, n);
}
function Ad(e) {
	return !e.getAllLeafColumns().some((e) => !il(e, "getIsVisible", bd));
}
function jd(e) {
	return e.getAllLeafColumns().some((e) => il(e, "getIsVisible", bd));
}
function Md(e) {
	return (t) => {
		kd(e, t.target.checked);
	};
}
// node_modules/@tanstack/table-core/dist/features/column-visibility/columnVisibilityFeature.js
var Nd = {
	getInitialState: (e) => ({
		columnVisibility: vd(),
		...e
	}),
	getDefaultTableOptions: (e) => ({ onColumnVisibilityChange: Uc("columnVisibility", e) }),
	assignColumnPrototype: (e, t) => {
		rl("columnVisibilityFeature", e, t, {
			column_getIsVisible: {
				fn: (e) => bd(e),
				memoDeps: (e) => [
					t.options.columns,
					t.atoms.columnVisibility?.get(),
					e.columns
				]
			},
			column_getCanHide: { fn: (e) => xd(e) },
			column_getToggleVisibilityHandler: { fn: (e) => Sd(e) },
			column_toggleVisibility: { fn: (e, t) => yd(e, t) }
		});
	},
	assignRowPrototype: (e, t) => {
		rl("columnVisibilityFeature", e, t, {
			row_getVisibleCells: {
				fn: (e) => Cd(e),
				memoDeps: (e) => [
					e.getAllCells(),
					t.atoms.columnPinning?.get(),
					t.atoms.columnVisibility?.get()
				]
			},
			row_getVisibleCellsByColumnId: {
				fn: (e) => wd(e),
				memoDeps: (e) => [e.getAllCells(), t.atoms.columnVisibility?.get()]
			}
		});
	},
	constructTableAPIs: (e) => {
		nl("columnVisibilityFeature", e, {
			table_getVisibleFlatColumns: {
				fn: () => Td(e),
				memoDeps: () => [
					e.atoms.columnVisibility?.get(),
					e.atoms.columnOrder?.get(),
					e.atoms.grouping?.get(),
					e.options.columns,
					e.options.groupedColumnMode
				]
			},
			table_getVisibleLeafColumns: {
				fn: () => Ed(e),
				memoDeps: () => [
					e.atoms.columnVisibility?.get(),
					e.atoms.columnOrder?.get(),
					e.atoms.grouping?.get(),
					e.options.columns,
					e.options.groupedColumnMode
				]
			},
			table_setColumnVisibility: { fn: (t) => Dd(e, t) },
			table_resetColumnVisibility: { fn: (t) => Od(e, t) },
			table_toggleAllColumnsVisible: { fn: (t) => kd(e, t) },
			table_getIsAllColumnsVisible: { fn: () => Ad(e) },
			table_getIsSomeColumnsVisible: { fn: () => jd(e) },
			table_getToggleAllColumnsVisibilityHandler: { fn: () => Md(e) }
		});
	}
}, Pd = /([0-9]+)/gm;
/* @__NO_SIDE_EFFECTS__ */
function Fd(e) {
	let t = Object.assign((e, n, r) => {
		let i = e.getValue(r), a = n.getValue(r), o = t.resolveDataValue;
		return o && (i = o(i), a = o(a)), t.sort(i, a, e, n, r);
	}, e);
	return t;
}
var Id = /* @__PURE__ */ Fd({ sort: (e, t) => Ld(e, t) });
function Ld(e, t) {
	return e === t ? 0 : e > t ? 1 : -1;
}
// node_modules/@tanstack/table-core/dist/features/row-sorting/rowSortingFeature.utils.js
function Rd() {
	return [];
}
function zd(e, t) {
	Yc(e, "sorting", t);
}
function Bd(e, t) {
	zd(e, t ? [] : zc(e.initialState.sorting ?? []));
}
function Vd(e) {
	e.atoms.sorting && (e.options.autoResetAll ?? e.options.autoResetSorting ?? !1) && Bd(e);
}
function Hd(e) {
	let t = e.table._rowModelFns.sortFns, n = e.table.getFilteredRowModel().flatRows.slice(0, 10), r, i = !1;
	for (let t = 0; t < n.length; t++) {
		let a = n[t].getValue(e.id);
		if (Object.prototype.toString.call(a) === "[object Date]") {
			r = "datetime";
			break;
		}
		if (typeof a == "string" && (i = !0, a.split(Pd).length > 1)) {
			r = "alphanumeric";
			break;
		}
	}
	if (!r && i && (r = "text"), r) {
		let e = t?.[r];
		if (e || r === "alphanumeric" && (e = t?.text), e) return e;
	}
	return Id;
}
function Ud(e) {
	let t = e.table.getFilteredRowModel().flatRows.slice(0, 10);
	for (let n = 0; n < t.length; n++) {
		let r = t[n].getValue(e.id);
		if (r != null) return typeof r == "string" ? "asc" : "desc";
	}
	return "desc";
}
function Wd(e) {
	let t = e.table._rowModelFns.sortFns;
	return Xc(e.columnDef.sortFn) ? e.columnDef.sortFn : e.columnDef.sortFn === "auto" ? Hd(e) : t?.[e.columnDef.sortFn] ?? Id;
}
function Gd(e, t, n) {
	let r = qd(e, n && Yd(e)), i = t !== void 0;
	zd(e.table, (a) => {
		let o = a.findIndex((t) => t.id === e.id), s = o === -1 ? void 0 : a[o], c = [], l, u = i ? t : r === "desc", d = !!(a.length && Yd(e) && n);
		return l = d ? s ? "toggle" : "add" : s ? "toggle" : "replace", l === "toggle" && (i || r || (l = "remove")), l === "add" ? (c = [...a, {
			id: e.id,
			desc: u
		}], c.splice(0, c.length - (e.table.options.maxMultiSortColCount ?? 2 ** 53 - 1))) : c = l === "toggle" ? d ? a.map((t) => t.id === e.id ? {
			...t,
			desc: u
		} : t) : [{
			id: e.id,
			desc: u
		}] : l === "remove" ? d ? a.filter((t) => t.id !== e.id) : [] : [{
			id: e.id,
			desc: u
		}], c;
	});
}
function Kd(e) {
	return e.columnDef.sortDescFirst ?? e.table.options.sortDescFirst ?? Ud(e) === "desc" ? "desc" : "asc";
}
function qd(e, t) {
	let n = Kd(e), r = Xd(e);
	return r ? r !== n && (e.table.options.enableSortingRemoval ?? !0) && (!t || (e.table.options.enableMultiRemove ?? !0)) ? !1 : r === "desc" ? "asc" : "desc" : n;
}
function Jd(e) {
	return (e.columnDef.enableSorting ?? !0) && (e.table.options.enableSorting ?? !0) && !!e.accessorFn;
}
function Yd(e) {
	return e.columnDef.enableMultiSort ?? e.table.options.enableMultiSort ?? !!e.accessorFn;
}
function Xd(e) {
	let t = e.table.atoms.sorting?.get()?.find((t) => t.id === e.id);
	return t ? t.desc ? "desc" : "asc" : !1;
}
function Zd(e) {
	return e.table.atoms.sorting?.get()?.findIndex((t) => t.id === e.id) ?? -1;
}
function Qd(e) {
	zd(e.table, (t) => t.length ? t.filter((t) => t.id !== e.id) : []);
}
function $d(e) {
	let t = Jd(e);
	return (n) => {
		t && Gd(e, void 0, Yd(e) ? e.table.options.isMultiSortEvent?.(n) : !1);
	};
}
// node_modules/@tanstack/table-core/dist/features/row-sorting/rowSortingFeature.js
var ef = {
	getInitialState(e) {
		return {
			sorting: Rd(),
			...e
		};
	},
	getDefaultColumnDef() {
		return {
			sortFn: "auto",
			sortUndefined: 1
		};
	},
	getDefaultTableOptions(e) {
		return {
			autoResetSorting: !1,
			onSortingChange: Uc("sorting", e),
			isMultiSortEvent: (e) => e.shiftKey
		};
	},
	assignColumnPrototype(e, t) {
		rl("rowSortingFeature", e, t, {
			column_getAutoSortFn: { fn: (e) => Hd(e) },
			column_getAutoSortDir: { fn: (e) => Ud(e) },
			column_getSortFn: { fn: (e) => Wd(e) },
			column_toggleSorting: { fn: (e, t, n) => Gd(e, t, n) },
			column_getFirstSortDir: { fn: (e) => Kd(e) },
			column_getNextSortingOrder: { fn: (e, t) => qd(e, t) },
			column_getCanSort: { fn: (e) => Jd(e) },
			column_getCanMultiSort: { fn: (e) => Yd(e) },
			column_getIsSorted: { fn: (e) => Xd(e) },
			column_getSortIndex: { fn: (e) => Zd(e) },
			column_clearSorting: { fn: (e) => Qd(e) },
			column_getToggleSortingHandler: { fn: (e) => $d(e) }
		});
	},
	constructTableAPIs(e) {
		nl("rowSortingFeature", e, {
			table_autoResetSorting: { fn: () => Vd(e) },
			table_setSorting: { fn: (t) => zd(e, t) },
			table_resetSorting: { fn: (t) => Bd(e, t) }
		});
	}
};
// node_modules/@tanstack/table-core/dist/features/column-filtering/filterRowsUtils.js
function tf(e, t, n) {
	return n.options.filterFromLeafRows ? nf(e, t, n) : rf(e, t, n);
}
function nf(e, t, n) {
	let r = [], i = Vc(), a = n.options.maxLeafRowFilterDepth ?? 100, o = (e, r = 0) => {
		let i = [];
		for (let s of e) {
			let e = Zl(n, s.id, s.original, s.index, s.depth, void 0, s.parentId);
			e.columnFilters = s.columnFilters, e.columnFiltersMeta = s.columnFiltersMeta, s.subRows.length && r < a ? (e.subRows = o(s.subRows, r + 1), (e.subRows.length || t(e)) && i.push(e)) : t(e) && (e.subRows = s.subRows, i.push(e));
		}
		return i;
	}, s = o(e);
	return af(s, r, i), {
		rows: s,
		flatRows: r,
		rowsById: i
	};
}
function rf(e, t, n) {
	let r = [], i = Vc(), a = n.options.maxLeafRowFilterDepth ?? 100, o = (e, s = 0) => {
		let c = [];
		for (let l of e) if (t(l)) {
			if (l.subRows.length && s < a) {
				let e = Zl(n, l.id, l.original, l.index, l.depth, void 0, l.parentId), t = l;
				e.columnFilters = t.columnFilters, e.columnFiltersMeta = t.columnFiltersMeta, c.push(e), r.push(e), i[e.id] = e, e.subRows = o(l.subRows, s + 1);
			} else c.push(l), r.push(l), i[l.id] = l, l.subRows.length && s >= a && af(l.subRows, r, i);
		}
		return c;
	};
	return {
		rows: o(e),
		flatRows: r,
		rowsById: i
	};
}
function af(e, t, n) {
	for (let r of e) t.push(r), n[r.id] = r, r.subRows.length && af(r.subRows, t, n);
}
// node_modules/@tanstack/table-core/dist/features/column-filtering/createFilteredRowModel.js
function of() {
	return (e) => {
		let t = e;
		return el({
			feature: "columnFilteringFeature",
			table: t,
			fnName: "table.getFilteredRowModel",
			memoDeps: () => [
				t.getPreFilteredRowModel(),
				t.atoms.columnFilters?.get(),
				t.atoms.globalFilter?.get()
			],
			fn: () => sf(t),
			onAfterUpdate: $c(() => yl(t))
		});
	};
}
function sf(e) {
	let t = e.getPreFilteredRowModel(), n = e.atoms.columnFilters?.get(), r = e.atoms.globalFilter?.get(), i = r != null && r !== "";
	if (!t.rows.length || !n?.length && !i) {
		let e = t.flatRows;
		for (let t = 0; t < e.length; t++) {
			let n = e[t];
			n.columnFilters = Vc(), n.columnFiltersMeta = Vc();
		}
		return t;
	}
	let a = [], o = [];
	n?.forEach((t) => {
		let n = jl(e, t.id);
		if (!n) return;
		let r = cd(n);
		r && a.push({
			id: t.id,
			filterFn: r,
			resolvedValue: r.resolveFilterValue?.(t.value) ?? t.value
		});
	});
	let s = n?.map((e) => e.id) ?? [];
	if (i) {
		let t = hl(e), n = t ? e.getAllLeafColumns().filter(gl) : [];
		t && n.length && (s.push("__global__"), n.forEach((e) => {
			o.push({
				id: e.id,
				filterFn: t,
				resolvedValue: t.resolveFilterValue?.(r) ?? r
			});
		}));
	}
	let c = t.flatRows;
	for (let e = 0; e < c.length; e++) {
		let t = c[e];
		if (t.columnFilters = Vc(), t.columnFiltersMeta = Vc(), a.length) for (let e = 0; e < a.length; e++) {
			let n = a[e], r = n.id;
			t.columnFilters[r] = n.filterFn(t, r, n.resolvedValue, (e) => {
				t.columnFiltersMeta ||= Vc(), t.columnFiltersMeta[r] = e;
			});
		}
		if (o.length) {
			for (let e = 0; e < o.length; e++) {
				let n = o[e], r = n.id;
				if (n.filterFn(t, r, n.resolvedValue, (e) => {
					t.columnFiltersMeta ||= Vc(), t.columnFiltersMeta[r] = e;
				})) {
					t.columnFilters.__global__ = !0;
					break;
				}
			}
			t.columnFilters.__global__ !== !0 && (t.columnFilters.__global__ = !1);
		}
	}
	return tf(t.rows, (e) => {
		for (let t = 0; t < s.length; t++) if (e.columnFilters[s[t]] === !1) return !1;
		return !0;
	}, e);
}
// node_modules/@tanstack/table-core/dist/features/row-sorting/createSortedRowModel.js
function cf() {
	return (e) => {
		let t = e;
		return el({
			feature: "rowSortingFeature",
			table: t,
			fnName: "table.getSortedRowModel",
			memoDeps: () => [t.atoms.sorting?.get(), t.getPreSortedRowModel()],
			fn: () => lf(t),
			onAfterUpdate: $c(() => yl(t))
		});
	};
}
function lf(e) {
	let t = e.getPreSortedRowModel(), n = e.atoms.sorting?.get();
	if (!t.rows.length || !n?.length) return t;
	let r = [], i = n.filter((t) => {
		let n = e.getColumn(t.id);
		return n ? Jd(n) : !1;
	});
	if (!i.length) return t;
	let a = [];
	for (let t = 0; t < i.length; t++) {
		let n = i[t], r = e.getColumn(n.id);
		r && a.push({
			id: n.id,
			desc: n.desc,
			sortUndefined: r.columnDef.sortUndefined,
			invertSorting: r.columnDef.invertSorting,
			sortFn: Wd(r)
		});
	}
	let o = (e, t) => {
		for (let n = 0; n < a.length; n++) {
			let r = a[n], i = r.sortUndefined, o = r.desc, s = 0;
			if (i) {
				let n = e.getValue(r.id), a = t.getValue(r.id), o = n === void 0, c = a === void 0;
				if (o && c) continue;
				if (o || c) {
					if (i === "first") return o ? -1 : 1;
					if (i === "last") return o ? 1 : -1;
					s = o ? i : -i;
				}
			}
			if (s === 0 && (s = r.sortFn(e, t, r.id)), s !== 0) return o && (s *= -1), r.invertSorting && (s *= -1), s;
		}
		return e.index - t.index;
	}, s = (e) => {
		let t = e.slice();
		t.sort(o);
		let n = !1;
		for (let i = 0; i < t.length; i++) {
			let a = t[i];
			a !== e[i] && (n = !0);
			let o = r.length;
			if (r.push(a), a.subRows.length) {
				let e = s(a.subRows);
				if (e.changed) {
					let s = Object.create(Object.getPrototypeOf(a));
					Bc(s, a), s.subRows = e.rows, t[i] = s, r[o] = s, n = !0;
				}
			}
		}
		return {
			rows: t,
			changed: n
		};
	};
	return {
		rows: s(t.rows).rows,
		flatRows: r,
		rowsById: t.rowsById
	};
}
// node_modules/@tanstack/table-core/dist/store-reactivity-bindings.js
function uf() {
	return {
		createOptionsStore: !0,
		wrapExternalAtoms: !1,
		addSubscription: () => {
			throw Error("Feature not supported in current reactivity implementation");
		},
		unmount: () => {
			throw Error("Feature not supported in current reactivity implementation");
		},
		batch: Zu,
		schedule: (e) => queueMicrotask(e),
		untrack: (e) => e(),
		createReadonlyAtom: (e, t) => ed(() => e(), { compare: t?.compare }),
		createWritableAtom: (e, t) => ed(e, { compare: t?.compare })
	};
}
// src/components/table/values.ts
function df(e, t) {
	let { data: n } = e;
	return "values" in n ? n.values[t] ?? null : n.texts[n.codes[t] ?? -1] ?? null;
}
function ff(e, t) {
	return Object.fromEntries(e.columns.map((e) => [e.key, df(e, t)]));
}
function pf(e) {
	return "values" in e.data;
}
function mf(e, t) {
	let n = e.columns.map(({ key: e }) => e), r = n.filter((e) => t?.includes(e));
	if (r.length) return r;
	let i = e.columns.filter((e) => e.main).map(({ key: e }) => e);
	return i.length ? i : n;
}
// src/components/table/search.ts
var hf = {
	">": (e, t) => e > t,
	">=": (e, t) => e >= t,
	"<": (e, t) => e < t,
	"<=": (e, t) => e <= t,
	"=": (e, t) => e === t
};
function gf(e, t, n) {
	let r = {
		words: [],
		conditions: []
	};
	for (let i of t.split(/\s+/).filter(Boolean)) {
		let t = _f(e, i, n);
		t ? r.conditions.push(t) : r.words.push(i.toLowerCase());
	}
	return r;
}
function _f(e, t, n) {
	let r = /^([\w-]*)(>=|<=|>|<|=)(.+)$/.exec(t);
	if (!r) return null;
	let [, i = "", a, o = ""] = r, s = i ? vf(e, i) : e.columns.find(({ key: e }) => e === n && e);
	if (!s || !pf(s)) return null;
	let c = On(s.kind, o);
	return c === null ? null : {
		column: s,
		operator: a,
		value: c
	};
}
function vf(e, t) {
	let n = yf(t), r = e.columns.filter(pf), i = (e) => [yf(e.key), yf(e.title)];
	return r.find((e) => i(e).includes(n)) ?? r.find((e) => i(e).some((e) => e.startsWith(n)));
}
function yf(e) {
	return e.toLowerCase().replace(/[^a-z0-9]/g, "");
}
function bf(e, t, n) {
	let r = n.conditions.every(({ column: e, operator: n, value: r }) => {
		let i = df(e, t);
		return typeof i == "number" && hf[n](i, r);
	});
	if (!r || !n.words.length) return r;
	let i = e.columns.map((e) => df(e, t)).filter((e) => typeof e == "string").map((e) => e.toLowerCase());
	return n.words.every((e) => i.some((t) => t.includes(e)));
}
function xf(e, t) {
	let n = new Uint8Array(e.length), r = e.toLowerCase();
	for (let e of t) for (let t = r.indexOf(e); t >= 0; t = r.indexOf(e, t + e.length)) n.fill(1, t, t + e.length);
	let i = [];
	for (let t = 0, r = 0; t < e.length; t = r) {
		for (; r < e.length && n[r] === n[t];) r++;
		i.push({
			text: e.slice(t, r),
			found: n[t] === 1
		});
	}
	return i;
}
// src/components/table/arranging.ts
var Sf = Iu({
	coreReactivityFeature: uf(),
	columnFilteringFeature: _d,
	columnVisibilityFeature: Nd,
	rowSortingFeature: ef,
	filteredRowModel: of(),
	sortedRowModel: cf()
}), Cf = "*row";
function wf(e) {
	let t = ad({
		features: Sf,
		data: Array.from({ length: e.rows }, (e, t) => ({ at: t })),
		columns: [...e.columns.map(Tf), Of(e)]
	});
	return (n) => {
		let r = n.sort === void 0 ? e.sort : n.sort, i = gf(e, n.search ?? "", r?.key), a = new Set(mf(e, n.columns));
		t.setSorting(r ? [{
			id: r.key,
			desc: r.descending
		}] : []);
		let o = i.words.length > 0 || i.conditions.length > 0;
		t.setColumnFilters(o ? [{
			id: Cf,
			value: i
		}] : []), t.setColumnVisibility(Object.fromEntries(e.columns.map(({ key: e }) => [e, a.has(e)])));
		let s = new Set(t.getVisibleLeafColumns().map(({ id: e }) => e));
		return {
			columns: e.columns.filter(({ key: e }) => s.has(e)),
			rows: t.getRowModel().rows.map((e) => e.original.at),
			query: i,
			sort: r
		};
	};
}
function Tf(e) {
	let t = Ef(e);
	return {
		id: e.key,
		accessorFn: (t) => df(e, t.at) ?? void 0,
		sortFn: (e, n) => t(e.original.at) - t(n.original.at),
		sortUndefined: "last"
	};
}
function Ef({ data: e }) {
	if ("values" in e) return (t) => e.values[t] ?? 0;
	let t;
	return (n) => (t ??= Df(e.texts), t.get(e.codes[n] ?? -1) ?? 0);
}
function Df(e) {
	let { compare: t } = new Intl.Collator("en", { numeric: !0 }), n = e.map((e, t) => t);
	return n.sort((n, r) => t(e[n] ?? "", e[r] ?? "")), new Map(n.map((e, t) => [e, t]));
}
function Of(e) {
	return {
		id: Cf,
		accessorFn: (e) => e.at,
		filterFn: (t, n, r) => bf(e, t.original.at, r)
	};
}
function kf(e, t, n) {
	let r = "values" in t.data;
	return n?.key === t.key ? n.descending === r ? {
		key: t.key,
		descending: !r
	} : e.sort?.key === t.key ? {
		key: t.key,
		descending: r
	} : void 0 : {
		key: t.key,
		descending: r
	};
}
// src/components/table/measures.ts
var Af = 400, jf = {
	least: 8,
	most: 32
};
function Mf(e, t, n) {
	let r = e.map((e) => Nf(e, t)), i = r[r.reduce((t, { width: n }, i) => !pf(e[i]) && (n ?? 0) > (r[t]?.width ?? 0) ? i : t, -1)];
	return i && (n || (i.width ?? 0) >= 26) && (i.width = null), r;
}
function Nf(e, t) {
	let n = Array.from({ length: Math.min(t, Af) }, (t, n) => vn(e.kind, df(e, n))), r = (e) => e.reduce((e, t) => Math.max(e, t), 0), i = r(e.title.split(" ").map((e) => e.length)) * .85 + 3;
	if (!pf(e)) {
		let e = Math.min(r(n.map(({ digits: e }) => e.length)) + 2, jf.most);
		return {
			width: Math.max(e, i, jf.least),
			decimals: 0,
			unit: 0,
			most: 0
		};
	}
	let a = r(n.map(({ digits: e }) => e.split(".")[1]?.length ?? 0)), o = r(n.map((e) => e.unit.length)), s = r(n.map(({ digits: e }) => (e.split(".")[0] ?? "").length)) + (a ? a + .5 : 0) + (o ? o + 1 : 0) + 1;
	return {
		width: Math.max(s, i, 7),
		decimals: a,
		unit: o,
		most: Pf(e)
	};
}
function Pf(e) {
	return !e.bar || !("values" in e.data) ? 0 : e.data.values.reduce((e, t) => Math.max(e, t ?? 0), 0);
}
function Ff(e, t) {
	if (!t) return 0;
	let n = e.split(".")[1]?.length;
	return n === void 0 ? t + .5 : t - n;
}
// src/components/table/Cell.tsx
function If(e) {
	let { column: t, value: n } = e;
	if (pf(t)) return /* @__PURE__ */ H(Lf, { ...e });
	if (n === null) return /* @__PURE__ */ H("td", {
		class: "none",
		children: "-"
	});
	let r = String(n);
	return /* @__PURE__ */ H("td", {
		title: r,
		children: /* @__PURE__ */ H("span", {
			class: "named",
			children: [/* @__PURE__ */ H(Rf, {
				...e,
				children: /* @__PURE__ */ H(zf, {
					text: r,
					words: e.words
				})
			}), zn(r) && /* @__PURE__ */ H("button", {
				type: "button",
				class: "opener",
				onClick: e.onOpen,
				"aria-expanded": e.open,
				"aria-label": `Whole name: ${r}`,
				children: e.open ? "less" : "more"
			})]
		})
	});
}
function Lf({ column: e, value: t, measures: n, row: r }) {
	if (t === null) return /* @__PURE__ */ H("td", {
		class: "number none",
		children: "-"
	});
	let { digits: i, unit: a } = vn(e.kind, t), o = Ff(i, n.decimals), s = n.most > 0 ? Math.min(Math.max(Number(t) / n.most, 0), 1) : 0;
	return /* @__PURE__ */ H("td", {
		class: s > 0 ? "number barred" : "number",
		style: s > 0 ? { "--share": `${(100 * s).toFixed(2)}%` } : void 0,
		children: /* @__PURE__ */ H(Rf, {
			column: e,
			value: t,
			row: r,
			children: [
				i,
				o > 0 && /* @__PURE__ */ H("span", { style: { paddingRight: `${o}ch` } }),
				n.unit > 0 && /* @__PURE__ */ H("span", {
					class: "unit",
					style: { minWidth: `${n.unit}ch` },
					children: a && ` ${a}`
				})
			]
		})
	});
}
function Rf({ column: e, value: t, row: n, children: r }) {
	let i = Me(dn);
	if (!e.link || t === null) return r;
	let a = i.hrefOfCell(e.link, String(t), n());
	return a ? /* @__PURE__ */ H("a", {
		href: a,
		children: r
	}) : r;
}
function zf({ text: e, words: t }) {
	let [n, r] = Bn(e);
	return /* @__PURE__ */ H("span", {
		class: "name",
		style: Vn(r),
		children: [/* @__PURE__ */ H("span", {
			class: "head",
			children: /* @__PURE__ */ H(Bf, {
				text: n,
				words: t
			})
		}), /* @__PURE__ */ H(Bf, {
			text: r,
			words: t
		})]
	});
}
function Bf({ text: e, words: t }) {
	return t.length ? /* @__PURE__ */ H(b, { children: xf(e, t).map((e, t) => e.found ? /* @__PURE__ */ H("mark", { children: e.text }, t) : e.text) }) : /* @__PURE__ */ H(b, { children: e });
}
// node_modules/@tanstack/virtual-core/dist/esm/lazy-measurements.js
function Vf(e) {
	return typeof e == "object" ? e.key : e;
}
function Hf(e, t) {
	let n = e.length;
	return new Proxy(e, { get(e, r, i) {
		if (typeof r == "string") {
			let i = r.charCodeAt(0);
			if (i >= 48 && i <= 57) {
				let i = +r;
				if (Number.isInteger(i) && i >= 0 && i < n) {
					let n = e[i];
					if (typeof n != "object") {
						let r = t[i * 2];
						n = e[i] = {
							index: i,
							key: n,
							start: r,
							size: t[i * 2 + 1],
							end: r + t[i * 2 + 1],
							lane: 0
						};
					}
					return n;
				}
			}
			if (r === "length") return n;
		}
		return Reflect.get(e, r, i);
	} });
}
// node_modules/@tanstack/virtual-core/dist/esm/utils.js
function Uf(e, t, n) {
	let r = n.initialDeps ?? [], i, a = !0;
	function o() {
		let o = e();
		return (o.length !== r.length || o.some((e, t) => r[t] !== e)) && (r = o, i = t(...o), n?.onChange && !(a && n.skipInitialOnChange) && n.onChange(i), a = !1), i;
	}
	return o.updateDeps = (e) => {
		r = e;
	}, o;
}
function Wf(e, t) {
	if (e === void 0) throw Error(`Unexpected undefined${t ? `: ${t}` : ""}`);
	return e;
}
var Gf = (e, t) => Math.abs(e - t) < 1.01, Kf = (e, t, n) => {
	let r;
	return Object.assign(function(...i) {
		e.clearTimeout(r), r = e.setTimeout(() => t.apply(this, i), n);
	}, { cancel: () => {
		e.clearTimeout(r);
	} });
};
// node_modules/@tanstack/virtual-core/dist/esm/scroll-classifier.js
function qf({ offset: e, isScrolling: t, elementMax: n, holdOffset: r, scrollOffset: i, pendingWrite: a, clampedMaxAtWrite: o }) {
	return t && a === null && e === i ? "spurious" : a !== null && Math.abs(e - a.target) < 1.5 ? "readBack" : a !== null && !a.smooth && n !== null && a.target > n + r + .5 && Math.abs(e - (n + r)) < 1.5 || a !== null && !a.smooth && a.lowMaxes?.some((t) => Math.abs(e - t) < 1.5) ? "clampedReadBack" : o !== null && Math.abs(e - o) < 1.5 ? "clampedEcho" : "external";
}
var Jf = (e) => e === "smooth" || e === "smoothFinishing";
function Yf({ kind: e, offset: t, command: n, target: r }) {
	return e !== "spurious" && e !== "readBack" && e !== "clampedReadBack" && n?.index != null && n.phase !== "queued" && !Jf(n.phase) && !Gf(t, n.lastTargetOffset) && !Gf(t, r()) && e !== "clampedEcho";
}
var Xf = 40;
function Zf(e) {
	let t = e[e.length - 1];
	if (t === void 0) return !1;
	let n = e.length - 2;
	for (; n >= 0 && t.t - e[n].t < Xf;) n--;
	if (n < 0) return !1;
	let r = e[n], i = n - 1;
	for (; i >= 0 && r.t - e[i].t < Xf;) i--;
	if (i < 0) return !1;
	let a = e[i], o = (t.offset - r.offset) / (t.t - r.t), s = (r.offset - a.offset) / (r.t - a.t);
	return o * s >= 0 && Math.abs(o) >= 2 * Math.abs(s) && Math.abs(o) - Math.abs(s) >= .8;
}
function Qf(e) {
	let t = e[e.length - 1];
	if (t === void 0) return !1;
	let n = e.length - 2;
	for (; n >= 0 && t.t - e[n].t < Xf;) n--;
	if (n < 0) return !1;
	let r = e[n];
	return Math.abs(t.offset - r.offset) / (t.t - r.t) >= .05;
}
// node_modules/@tanstack/virtual-core/dist/esm/ios-gesture.js
var $f, ep = () => {
	if ($f !== void 0) return $f;
	if (typeof navigator > "u") return $f = !1;
	if (/iP(hone|od|ad)/.test(navigator.userAgent)) return $f = !0;
	let e = navigator.maxTouchPoints;
	return $f = navigator.platform === "MacIntel" && e !== void 0 && e > 0;
}, tp, np = () => tp === void 0 ? tp = ep() && typeof CSS < "u" && typeof CSS.supports == "function" && CSS.supports("overflow-anchor: auto") : tp, rp = () => !ep() || np(), ip = {
	capture: !0,
	passive: !0
}, ap = class {
	constructor(e) {
		this.host = e, this._touch = null, this.inMotion = () => this._touch !== null && this._touch.phase !== "lateFling", this.dragging = () => this._touch?.phase === "down" && this._touch.moved, this.tail = () => this._touch?.phase === "tail" ? this._touch.moved ? "fling" : "tap" : null, this.onScroll = ({ isScrolling: e, ownReadBack: t, moved: n, external: r }) => (e && this._touch?.phase === "tail" ? this._openTail(this._touch.moved || !t, !1) : this._touch?.phase === "lateFling" && (this.host.now() > this._touch.until ? this._touch = null : r && e && n && this._openTail(!0, !1)), !t && e && n && this._touch?.phase === "down" ? (this._touch.moved = !0, !0) : !1), this.touchStart = () => {
			this.end(), this._touch = {
				phase: "down",
				moved: !1
			};
		}, this.touchEnd = () => {
			let e = this._touch?.phase === "down" && this._touch.moved;
			this.end(), this._openTail(e, e);
		}, this.end = () => {
			let e = this.host.getWindow();
			this._touch?.phase === "tail" && e != null && e.clearTimeout(this._touch.timerId), this._touch = null;
		}, this.listen = (e) => {
			let t = () => this.touchStart(), n = () => this.touchEnd();
			return e.addEventListener("touchstart", t, ip), e.addEventListener("touchend", n, ip), e.addEventListener("touchcancel", n, ip), () => {
				e.removeEventListener("touchstart", t, ip), e.removeEventListener("touchend", n, ip), e.removeEventListener("touchcancel", n, ip), this.end();
			};
		}, this._openTail = (e, t) => {
			let n = this.host.getWindow();
			if (n == null) return;
			this.end();
			let r = {
				phase: "tail",
				moved: e,
				awaitingFling: t,
				timerId: n.setTimeout(() => {
					this.host.tailStillMoving() ? this._openTail(r.moved, r.awaitingFling) : (this._touch = r.awaitingFling ? {
						phase: "lateFling",
						until: this.host.now() + 1e3
					} : null, this.host.onTailClosed());
				}, 150)
			};
			this._touch = r;
		};
	}
	get touch() {
		return this._touch;
	}
}, op = (e) => {
	let { clientWidth: t, clientHeight: n } = e;
	return {
		width: t,
		height: n
	};
}, sp = (e) => {
	let t = /* @__PURE__ */ new Set();
	return {
		schedule: (n) => {
			let r = e.requestAnimationFrame(() => {
				t.delete(r), n();
			});
			t.add(r);
		},
		cancel: () => {
			t.forEach((t) => e.cancelAnimationFrame(t)), t.clear();
		}
	};
}, cp = (e) => e, lp = (e) => {
	let t = e.overscan * Math.max(e.lanes ?? 1, 1), n = Math.max(e.startIndex - t, 0), r = Math.min(e.endIndex + t, e.count - 1) - n + 1, i = Array(r);
	for (let e = 0; e < r; e++) i[e] = n + e;
	return i;
}, up = (e, t) => {
	let n = e.scrollElement;
	if (!n) return;
	let r = e.targetWindow;
	if (!r) return;
	let i = (e) => {
		let { width: n, height: r } = e;
		t({
			width: Math.round(n),
			height: Math.round(r)
		});
	};
	if (i(op(n)), !r.ResizeObserver) return () => {};
	let a = sp(r), o = new r.ResizeObserver(() => {
		let t = () => {
			i(op(n));
		};
		e.options.useAnimationFrameWithResizeObserver ? a.schedule(t) : t();
	});
	return o.observe(n, { box: "content-box" }), () => {
		o.unobserve(n), a.cancel();
	};
}, dp = { passive: !0 }, fp = typeof window > "u" || "onscrollend" in window, pp = (e, t, n) => {
	let r = e.scrollElement;
	if (!r) return;
	let i = e.targetWindow;
	if (!i) return;
	let a = e.options.useScrollendEvent && fp, o = 0, s = a ? null : Kf(i, () => t(n(r), !1), e.options.isScrollingResetDelay), c = (e) => () => {
		o = n(r), s?.(), t(o, e);
	}, l = c(!0), u = c(!1);
	return r.addEventListener("scroll", l, dp), a && r.addEventListener("scrollend", u, dp), () => {
		r.removeEventListener("scroll", l), a && r.removeEventListener("scrollend", u), s?.cancel();
	};
}, mp = (e, t) => pp(e, t, (t) => {
	let { horizontal: n, isRtl: r } = e.options;
	return n ? t.scrollLeft * (r && -1 || 1) : t.scrollTop;
}), hp = (e, t, n) => {
	if (n.options.useCachedMeasurements) {
		let t = n.indexFromElement(e), r = n.options.getItemKey(t);
		return n.itemSizeCache.get(r) ?? n.options.estimateSize(t);
	}
	if (t?.borderBoxSize) {
		let e = t.borderBoxSize[0];
		if (e) return Math.round(e[n.options.horizontal ? "inlineSize" : "blockSize"]);
	}
	if (!t) {
		let t = n.indexFromElement(e), r = n.options.getItemKey(t), i = n.itemSizeCache.get(r);
		if (i !== void 0) return i;
	}
	return e[n.options.horizontal ? "offsetWidth" : "offsetHeight"];
}, gp = (e, { adjustments: t = 0, behavior: n }, r) => {
	var i;
	let { scrollElement: a, options: o } = r, s = e + t, c = o.horizontal && o.isRtl && a !== null && "ownerDocument" in a;
	(i = a?.scrollTo) == null || i.call(a, {
		[o.horizontal ? "left" : "top"]: c ? -s : s,
		behavior: n
	});
}, _p = (e, t) => e === "smooth" ? t ? "smoothLanded" : "smooth" : "instant", vp = (e) => e?.phase === "smooth" || e?.phase === "smoothLanded";
function yp(e, t, n, r) {
	if (t === 0) return !1;
	let i = r(0), a = /* @__PURE__ */ new Set(), o = 0;
	for (; o < e;) {
		let e = n(o);
		if (e === i) break;
		a.add(e), o++;
	}
	let s = e - o;
	if (s === 0 || s >= t) return !1;
	for (let e = 0; e < s; e++) if (r(e) !== n(o + e)) return !1;
	for (let e = s; e < t; e++) if (a.has(r(e))) return !1;
	return !0;
}
var bp = class {
	constructor(e) {
		this.unsubs = [], this.scrollElement = null, this.targetWindow = null, this.isScrolling = !1, this.scrollState = null, this.measurementsCache = [], this._singleLaneMeasurements = null, this.itemSizeCache = /* @__PURE__ */ new Map(), this.itemSizeCacheVersion = 0, this.laneAssignments = /* @__PURE__ */ new Map(), this.pendingMin = null, this.prevLanes = void 0, this.lanesChangedFlag = !1, this.lanesSettling = !1, this.pendingScrollAnchor = null, this.scrollRect = null, this.scrollOffset = null, this.scrollDirection = null, this._holdOffset = 0, this._reportedOverscroll = !1, this._iosGesture = new ap({
			getWindow: () => this.targetWindow,
			now: () => this.now(),
			tailStillMoving: () => {
				let e = this.scrollState;
				if (e?.phase !== "queued" || this.pendingWrite !== null) return !1;
				let t = this._readElementOffset();
				return t === null || this._lastElementOffset === null || Math.abs(t - this._lastElementOffset) < 1 ? !1 : (this._lastElementOffset = t, e.samples = [...e.samples ?? [], {
					t: this.now(),
					offset: t
				}], !0);
			},
			onTailClosed: () => {
				let e = this.scrollState;
				e?.phase === "queued" && Qf(e.samples ?? []) && (this.scrollState = null), this._flushHoldIfReady(!0), this._writeAwaitingCommand(), this._retryClampedAdjustment();
			}
		}), this._lastElementOffset = null, this.pendingWrite = null, this._clampedAdjustment = null, this.elementsCache = /* @__PURE__ */ new Map(), this._resizeBatch = null, this.now = () => {
			var e;
			return ((e = this.targetWindow?.performance)?.now)?.call(e) ?? Date.now();
		}, this.observer = /* @__PURE__ */ (() => {
			let e = null, t = null, n = !1, r = !1, i = /* @__PURE__ */ new Set(), a = () => {
				if (e) return e;
				let r = this.targetWindow;
				if (!r || !r.ResizeObserver) return null;
				let i = t = sp(r);
				return e = new r.ResizeObserver((e) => {
					let t = () => {
						let t = { sync: !1 };
						this._resizeBatch = t;
						try {
							e.forEach(o);
						} finally {
							this._resizeBatch = null, t.notify && (this.notify(t.sync), this._noteClampMax(), this._flushHoldIfReady(!0), this._retryClampedAdjustment(), this.measureElement(null));
						}
					};
					if (this.options.useAnimationFrameWithResizeObserver) i.schedule(t);
					else {
						n = !0;
						try {
							t();
						} finally {
							n = !1;
						}
					}
				});
			}, o = (e) => {
				let t = e.target, n = this.indexFromElement(t);
				if (t.isConnected) this.isIndexInRange(n) && this.shouldMeasureDuringScroll(n) && this.resizeItem(n, this.options.measureElement(t, e, this));
				else {
					this.observer.unobserve(t);
					for (let [e, n] of this.elementsCache) if (n === t) {
						this.elementsCache.delete(e);
						break;
					}
				}
			};
			return {
				disconnect: () => {
					var n;
					(n = a()) == null || n.disconnect(), t?.cancel(), i.clear(), r = !1, e = null, t = null;
				},
				observe: (o) => {
					let s = a();
					s && (n ? (i.add(o), r || (r = !0, t?.schedule(() => {
						r = !1, i.forEach((t) => {
							t.isConnected && e?.observe(t, { box: "border-box" });
						}), i.clear();
					}))) : s.observe(o, { box: "border-box" }));
				},
				unobserve: (e) => {
					var t;
					i.delete(e), (t = a()) == null || t.unobserve(e);
				}
			};
		})(), this.range = null, this.setOptions = (e) => {
			let t = {
				debug: !1,
				initialOffset: 0,
				overscan: 1,
				paddingStart: 0,
				paddingEnd: 0,
				scrollPaddingStart: 0,
				scrollPaddingEnd: 0,
				horizontal: !1,
				getItemKey: cp,
				rangeExtractor: lp,
				onChange: () => {},
				measureElement: hp,
				initialRect: {
					width: 0,
					height: 0
				},
				scrollMargin: 0,
				gap: 0,
				indexAttribute: "data-index",
				initialMeasurementsCache: [],
				lanes: 1,
				anchorTo: "start",
				followOnAppend: !1,
				scrollEndThreshold: 1,
				isScrollingResetDelay: 150,
				enabled: !0,
				isRtl: !1,
				useScrollendEvent: !1,
				useAnimationFrameWithResizeObserver: !1,
				laneAssignmentMode: "estimate",
				useCachedMeasurements: !1
			};
			for (let n in e) {
				let r = e[n];
				r !== void 0 && (t[n] = r);
			}
			let n = this.options, r = null, i = null, a = !1;
			if (n !== void 0 && n.enabled && t.enabled && t.anchorTo === "end" && this.scrollElement !== null) {
				let e = n.count, o = t.count, s = this.getMeasurements(), c = this._singleLaneMeasurements?.items ?? s, l = (e) => Vf(c[e]), u = e > 0 ? l(0) : null, d = e > 0 ? l(e - 1) : null;
				if (o !== e || e > 0 && o > 0 && (t.getItemKey(0) !== u || t.getItemKey(o - 1) !== d)) {
					a = !0;
					let c = e > 0 ? this.getVirtualItemForOffset(this.getScrollOffset()) ?? s[0] : null;
					c && (r = [c.key, this.getScrollOffset() - c.start]);
					let u = t.followOnAppend === !0 ? "auto" : t.followOnAppend || null;
					u && o > 0 && this.isAtEnd(n.scrollEndThreshold) && (e === 0 || t.getItemKey(o - 1) !== d) && (o > e || yp(e, o, l, t.getItemKey)) && (i = u);
				}
			}
			this.options = t, a && (this.pendingMin = 0, this.itemSizeCacheVersion++);
			let o = null;
			if (r && this.scrollOffset !== null && !this._awaitingCommandReadBack()) {
				let [e, t] = r, n = this.getMeasurements(), { count: a, getItemKey: s } = this.options, c = 0;
				for (; c < a && s(c) !== e;) c++;
				if (c < a) {
					let e = n[c];
					if (e) {
						let n = Math.max(0, e.start + t);
						!i && n !== this.scrollOffset && (o = n - this.scrollOffset, this.scrollOffset = n);
					}
				}
			}
			i ? this.pendingScrollAnchor = {
				kind: "follow",
				behavior: i
			} : o !== null && (this._canWriteScroll() ? this.pendingScrollAnchor = {
				kind: "anchor",
				delta: o
			} : (this._holdOffset += o, this._followOffsetTarget(o)));
		}, this.notify = (e) => {
			var t, n;
			(n = (t = this.options).onChange) == null || n.call(t, this, e);
		}, this.maybeNotify = Uf(() => (this.calculateRange(), [
			this.isScrolling,
			this.range ? this.range.startIndex : null,
			this.range ? this.range.endIndex : null
		]), (e) => {
			this.notify(e);
		}, {
			key: !1,
			debug: () => this.options.debug,
			initialDeps: [
				this.isScrolling,
				this.range ? this.range.startIndex : null,
				this.range ? this.range.endIndex : null
			]
		}), this.cleanup = () => {
			var e;
			this.unsubs.filter(Boolean).forEach((e) => e()), this.unsubs = [], this.observer.disconnect(), this.rafId != null && this.targetWindow && (this.targetWindow.cancelAnimationFrame(this.rafId), this.rafId = null), this.scrollState = null, (e = this._momentumStop) == null || e.restore(), this._momentumStop = null, this.isScrolling = !1, this.scrollDirection = null, this._holdOffset = 0, this._reportedOverscroll = !1, this._clampedAdjustment = null, this.pendingWrite = null, this.scrollElement = null, this.targetWindow = null;
		}, this._didMount = () => () => {
			this.cleanup();
		}, this._willUpdate = () => {
			let e = this.options.enabled ? this.options.getScrollElement() : null;
			if (this.scrollElement !== e) {
				if (this.cleanup(), !e) {
					this.maybeNotify();
					return;
				}
				this.scrollElement = e, this.targetWindow = this.scrollElement && "ownerDocument" in this.scrollElement ? this.scrollElement.ownerDocument.defaultView : this.scrollElement?.window ?? null, this.elementsCache.forEach((e) => {
					this.observer.observe(e);
				}), this.unsubs.push(this.options.observeElementRect(this, (e) => {
					this.scrollRect = e, this.maybeNotify();
				})), this.unsubs.push(this.options.observeElementOffset(this, (e, t) => {
					let n = t ? this._elementMaxScrollOffset() : null, r = this._reportedOverscroll;
					this._reportedOverscroll = e < 0 || n !== null && e > n + 1;
					let i = e;
					this._lastElementOffset = i, e = this._toLayoutOffset(e);
					let a = this._classifyScrollEvent(e, t, n);
					if (a === "spurious") return;
					a === "readBack" ? e = this.pendingWrite.target : a === "clampedReadBack" && this.scrollState?.index != null && e < this.getMaxScrollOffset() - 1.5 ? this.scrollState.lastTargetOffset = e : Yf({
						kind: a,
						offset: e,
						command: this.scrollState,
						target: () => this.getScrollStateTarget(this.scrollState)
					}) && (this.scrollState = null), this.pendingWrite = null, this._clampedAdjustment !== null && Math.abs(e - this._clampedAdjustment.maxAtWrite) >= 1.5 && (this._clampedAdjustment = null);
					let o = this.getScrollOffset(), s = this.scrollDirection;
					this.scrollDirection = t ? o === e ? this.scrollDirection : o < e ? "forward" : "backward" : null, this.scrollOffset = e, this.isScrolling = t;
					let c = this.scrollState;
					if (c?.phase === "queued" && a === "external" && t) {
						if (r || this._reportedOverscroll) c.samples = [];
						else {
							let e = this.now();
							c.samples = [...(c.samples ?? []).filter((t) => e - t.t <= 200), {
								t: e,
								offset: i
							}], (s !== null && this.scrollDirection !== s || Zf(c.samples)) && (this.scrollState = null);
						}
					}
					this._iosGesture.onScroll({
						isScrolling: t,
						ownReadBack: a === "readBack",
						moved: e !== o,
						external: a === "external" && this.scrollState?.phase !== "smooth" && this.scrollState?.phase !== "smoothFinishing"
					}) && this.scrollState?.phase === "queued" && (this.scrollState = null), this._flushHoldIfReady(!0), this.scrollState && this.scheduleScrollReconcile(), this.maybeNotify();
				})), "addEventListener" in this.scrollElement && this.unsubs.push(this._iosGesture.listen(this.scrollElement)), this._scrollToOffset(this.getScrollOffset());
			}
			this._noteClampMax();
			let t = this.pendingScrollAnchor;
			this.pendingScrollAnchor = null, t && this.scrollElement && this.options.enabled && (t.kind === "anchor" ? this._canWriteScroll() ? vp(this.scrollState) && !Gf(this.getScrollOffset() - t.delta, this.scrollState.lastTargetOffset) || (this._followOffsetTarget(t.delta), this._scrollToOffset(this.getScrollOffset())) : (this._holdOffset += t.delta, this._followOffsetTarget(t.delta), this.notify(!1)) : this.scrollToEnd({ behavior: t.behavior })), this._flushHoldIfReady(!1), this._retryClampedAdjustment();
		}, this._classifyScrollEvent = (e, t, n) => qf({
			offset: e,
			isScrolling: t,
			elementMax: n,
			holdOffset: this._holdOffset,
			scrollOffset: this.scrollOffset,
			pendingWrite: this.pendingWrite,
			clampedMaxAtWrite: this._clampedAdjustment?.maxAtWrite ?? null
		}), this._retryClampedAdjustment = () => {
			if (this._clampedAdjustment === null || !this.scrollElement || !this.options.enabled || !this._canWriteScroll()) return;
			let { target: e, maxAtWrite: t } = this._clampedAdjustment, n = this.getMaxScrollOffset();
			n > t + .5 && (this._clampedAdjustment = e > n + .5 ? {
				target: e,
				maxAtWrite: n
			} : null, this._scrollToOffset(e));
		}, this._writeAwaitingCommand = () => {
			let e = this.scrollState;
			if (e === null || e.phase !== "queued") return;
			let { behavior: t } = e;
			this.getMeasurements();
			let n = this.getScrollStateTarget(e);
			e.lastTargetOffset = n, this._clampedAdjustment = null, e.phase = _p(t, e.index != null && Gf(n, this.getScrollOffset())), this._scrollToOffset(n, { behavior: t }), this.scheduleScrollReconcile();
		}, this._readElementOffset = () => {
			let e = this.scrollElement;
			if (e == null) return null;
			let { horizontal: t, isRtl: n } = this.options;
			return typeof e.scrollTop == "number" ? t ? e.scrollLeft * (n && -1 || 1) : e.scrollTop : typeof e.scrollY == "number" ? t ? e.scrollX : e.scrollY : null;
		}, this._canWriteScroll = () => !(ep() && this._iosGesture.inMotion()) && !this._reportedOverscroll, this._flushHoldIfReady = (e) => {
			if (this._holdOffset === 0 || !this.scrollElement || !this.options.enabled || !this._canWriteScroll() || this.scrollState?.phase === "smooth") return;
			this._holdOffset = 0, this.scrollOffset !== null && this.scrollOffset < 0 && (this.scrollOffset = 0), this.notify(e);
			let t = this.getCommandWrittenOffset() ?? this.getScrollOffset();
			this._clampedAdjustment = this._clampedBy(t), this._scrollToOffset(t);
		}, this.rafId = null, this.getSize = () => this.options.enabled ? (this.scrollRect = this.scrollRect ?? this.options.initialRect, this.scrollRect[this.options.horizontal ? "width" : "height"]) : (this.scrollRect = null, 0), this.getScrollOffset = () => this.options.enabled ? (this.scrollOffset = this.scrollOffset ?? (typeof this.options.initialOffset == "function" ? this.options.initialOffset() : this.options.initialOffset), this.scrollOffset) : (this.scrollOffset = null, 0), this.getMeasurementOptions = Uf(() => [
			this.options.count,
			this.options.paddingStart,
			this.options.scrollMargin,
			this.options.getItemKey,
			this.options.enabled,
			this.options.lanes,
			this.options.laneAssignmentMode,
			this.options.gap
		], (e, t, n, r, i, a, o, s) => (this.prevLanes !== void 0 && this.prevLanes !== a && (this.lanesChangedFlag = !0), this.prevLanes = a, this.pendingMin = null, {
			count: e,
			paddingStart: t,
			scrollMargin: n,
			getItemKey: r,
			enabled: i,
			lanes: a,
			laneAssignmentMode: o,
			gap: s
		}), { key: !1 }), this.isIndexInRange = (e) => e >= 0 && e < this.options.count, this.getMeasurements = Uf(() => [this.getMeasurementOptions(), this.itemSizeCacheVersion], ({ count: e, paddingStart: t, scrollMargin: n, getItemKey: r, enabled: i, lanes: a, laneAssignmentMode: o, gap: s }, c) => {
			let l = this.itemSizeCache;
			if (!i) return this.measurementsCache = [], this._singleLaneMeasurements = null, this.itemSizeCache.clear(), this.laneAssignments.clear(), [];
			if (this.laneAssignments.size > e) for (let t of this.laneAssignments.keys()) t >= e && this.laneAssignments.delete(t);
			this.lanesChangedFlag && (this.lanesChangedFlag = !1, this.lanesSettling = !0, this.measurementsCache = [], this._singleLaneMeasurements = null, this.itemSizeCache.clear(), this.laneAssignments.clear(), this.pendingMin = null), this.measurementsCache.length === 0 && !this.lanesSettling && (this.measurementsCache = this.options.initialMeasurementsCache, this.measurementsCache.forEach((e) => {
				this.itemSizeCache.set(e.key, e.size);
			}));
			let u = this.lanesSettling ? 0 : this.pendingMin ?? 0;
			if (this.pendingMin = null, this.lanesSettling && this.measurementsCache.length === e && (this.lanesSettling = !1), a === 1) {
				let i = e * 2, a = this._singleLaneMeasurements?.flat;
				if (!a || a.length < i) {
					let e = new Float64Array(i);
					a && u > 0 && e.set(a.subarray(0, u * 2)), a = e;
				}
				let o = u === 0 ? Array(e) : this._singleLaneMeasurements.items.slice(), c;
				if (u === 0) c = t + n;
				else {
					let e = u - 1;
					c = a[e * 2] + a[e * 2 + 1] + s;
				}
				for (let t = u; t < e; t++) {
					let e = r(t);
					o[t] = e;
					let n = l.get(e), i = typeof n == "number" ? n : this.options.estimateSize(t);
					a[t * 2] = c, a[t * 2 + 1] = i, c += i + s;
				}
				this._singleLaneMeasurements = {
					flat: a,
					items: o
				};
				let d = Hf(o, a);
				return this.measurementsCache = d, d;
			}
			let d = this.measurementsCache.slice(0, u), f = Array(a).fill(void 0), p = new Float64Array(a), m = 0;
			for (let e = 0; e < u; e++) {
				let t = d[e];
				t && (f[t.lane] === void 0 && m++, f[t.lane] = e, p[t.lane] = t.end);
			}
			for (let i = u; i < e; i++) {
				let e = r(i), c = this.laneAssignments.get(i), u, h, g = o === "estimate" || l.has(e);
				if (c !== void 0 && this.options.lanes > 1) {
					u = c;
					let e = f[u], r = e === void 0 ? void 0 : d[e];
					h = r ? r.end + s : t + n;
				} else if (m === a) {
					let e = 0, t = p[0], n = f[0];
					for (let r = 1; r < a; r++) {
						let i = p[r];
						(i < t || i === t && f[r] < n) && (e = r, t = i, n = f[r]);
					}
					u = e, h = t + s, g && this.laneAssignments.set(i, u);
				} else u = i % this.options.lanes, h = t + n, g && this.laneAssignments.set(i, u);
				let _ = l.get(e), v = typeof _ == "number" ? _ : this.options.estimateSize(i), y = h + v;
				d[i] = {
					index: i,
					start: h,
					size: v,
					end: y,
					key: e,
					lane: u
				}, f[u] === void 0 && m++, f[u] = i, p[u] = y;
			}
			return this.measurementsCache = d, d;
		}, {
			key: !1,
			debug: () => this.options.debug
		}), this.calculateRange = Uf(() => [
			this.getMeasurements(),
			this.getSize(),
			this.getScrollOffset(),
			this.options.lanes,
			this._getLayoutTotalSize() + this.options.scrollMargin
		], (e, t, n, r, i) => {
			if (e.length === 0 || t === 0) return this.range = null, null;
			let a = Math.max(i - t, 0);
			return this.range = Cp(e, t, Math.min(n, a), r, r === 1 && this._singleLaneMeasurements !== null ? this._singleLaneMeasurements.flat : null), this.range;
		}, {
			key: !1,
			debug: () => this.options.debug
		}), this.getVirtualIndexes = Uf(() => {
			let e = null, t = null, n = this.calculateRange();
			return n && (e = n.startIndex, t = n.endIndex), this.maybeNotify.updateDeps([
				this.isScrolling,
				e,
				t
			]), [
				this.options.rangeExtractor,
				this.options.overscan,
				this.options.count,
				e,
				t,
				this.options.lanes
			];
		}, (e, t, n, r, i, a) => r === null || i === null ? [] : e({
			startIndex: r,
			endIndex: i,
			overscan: t,
			count: n,
			lanes: a
		}), {
			key: !1,
			debug: () => this.options.debug
		}), this.indexFromElement = (e) => {
			let t = this.options.indexAttribute, n = e.getAttribute(t);
			return n ? parseInt(n, 10) : (console.warn(`Missing attribute name '${t}={index}' on measured element.`), -1);
		}, this.shouldMeasureDuringScroll = (e) => {
			if (!vp(this.scrollState)) return !0;
			let t = this.scrollState.index ?? this.getVirtualItemForOffset(this.scrollState.lastTargetOffset)?.index;
			if (t !== void 0 && this.range) {
				let n = Math.max(this.options.overscan, Math.ceil((this.range.endIndex - this.range.startIndex) / 2)), r = Math.max(0, t - n), i = Math.min(this.options.count - 1, t + n);
				return e >= r && e <= i;
			}
			return !0;
		}, this.measureElement = (e) => {
			if (!e) {
				this.elementsCache.forEach((e, t) => {
					e.isConnected || (this.observer.unobserve(e), this.elementsCache.delete(t));
				});
				return;
			}
			let t = this.indexFromElement(e);
			if (!this.isIndexInRange(t)) return;
			let n = this.options.getItemKey(t), r = this.elementsCache.get(n);
			r !== e && (r && this.observer.unobserve(r), this.observer.observe(e), this.elementsCache.set(n, e)), e.isConnected && (!this.isScrolling || this.scrollState) && this.shouldMeasureDuringScroll(t) && this.resizeItem(t, this.options.measureElement(e, void 0, this));
		}, this.resizeItem = (e, t) => {
			var n;
			if (!this.isIndexInRange(e)) return;
			this._resizeBatch?.sync && this.getMeasurements();
			let r, i, a, o = this._singleLaneMeasurements?.flat;
			if (this.options.lanes === 1 && o != null) a = this.options.getItemKey(e), i = o[e * 2], r = o[e * 2 + 1];
			else {
				let t = this.measurementsCache[e];
				if (!t) return;
				a = t.key, i = t.start, r = t.size;
			}
			let s = this.itemSizeCache.get(a) ?? r, c = t - s;
			if (c !== 0) {
				let o = this.options.anchorTo === "end" && !vp(this.scrollState) && this.getVirtualDistanceFromEnd() <= this.options.scrollEndThreshold, l = o ? this._getLayoutTotalSize() : 0, u = this.getScrollOffset(), d = this.itemSizeCache.has(a) ? i + s <= u && this.scrollDirection !== "backward" : i < u, f = !vp(this.scrollState) && (this.shouldAdjustScrollPositionOnItemSizeChange === void 0 ? d : this.shouldAdjustScrollPositionOnItemSizeChange(this.measurementsCache[e] ?? {
					index: e,
					key: a,
					start: i,
					size: r,
					end: i + r,
					lane: 0
				}, c, this));
				(this.pendingMin === null || e < this.pendingMin) && (this.pendingMin = e), this.itemSizeCache.set(a, t), this.itemSizeCacheVersion++;
				let p = !1;
				if (this._awaitingCommandReadBack() || (o ? p = this.applyScrollAdjustment(this._getLayoutTotalSize() - l) : f && (p = this.applyScrollAdjustment(c))), this._resizeBatch) {
					this._resizeBatch.notify = !0, (n = this._resizeBatch).sync || (n.sync = p);
					return;
				}
				this.notify(p), this._noteClampMax(), this._flushHoldIfReady(!0), this._retryClampedAdjustment();
			}
		}, this.getVirtualItems = Uf(() => [
			this.getVirtualIndexes(),
			this.getMeasurements(),
			this._holdOffset
		], (e, t, n) => {
			let r = [];
			for (let i = 0, a = e.length; i < a; i++) {
				let a = t[e[i]];
				r.push(n === 0 ? a : {
					...a,
					start: a.start - n,
					end: a.end - n
				});
			}
			return r;
		}, {
			key: !1,
			debug: () => this.options.debug
		}), this.getVirtualItemForOffset = (e) => {
			let t = this.getMeasurements();
			if (t.length === 0) return;
			let n = this._singleLaneMeasurements?.flat, r = this.options.lanes === 1 && n != null;
			return Wf(t[xp(0, t.length - 1, r ? (e) => n[e * 2] : (e) => Wf(t[e]).start, e)]);
		}, this._noteClampMax = () => {
			if (!this._awaitingCommandReadBack()) return;
			let e = this._elementMaxScrollOffset();
			if (e === null) return;
			let t = this.pendingWrite, n = Math.max(e, 0) + this._holdOffset;
			if (n >= t.target) return;
			let r = t.lowMaxes ??= [];
			r[r.length - 1] !== n && r.push(n);
		}, this.getMaxScrollOffset = () => (this._elementMaxScrollOffset() ?? 0) + this._holdOffset, this._toLayoutOffset = (e) => {
			let t = e + this._holdOffset;
			return this.pendingScrollAnchor?.kind === "anchor" && (t += this.pendingScrollAnchor.delta), t;
		}, this._elementMaxScrollOffset = () => {
			let e = this.scrollElement;
			if (e === null) return null;
			if ("scrollHeight" in e) return this.options.horizontal ? e.scrollWidth - e.clientWidth : e.scrollHeight - e.clientHeight;
			if ("document" in e) {
				let t = e.document.documentElement;
				return this.options.horizontal ? t.scrollWidth - e.innerWidth : t.scrollHeight - e.innerHeight;
			}
			return null;
		}, this._momentumStop = null, this._stopMomentum = (e) => {
			let t = this.scrollElement, n = this.targetWindow;
			if (t === null || n === null) return;
			let r = "document" in t ? t.document.scrollingElement : t;
			if (!r?.style) return;
			if (this._momentumStop) {
				this._momentumStop.done = e;
				return;
			}
			let { style: i } = r, a = this.options.horizontal ? "overflow-x" : "overflow-y", o = i.getPropertyValue(a), s = i.getPropertyPriority(a), c = () => this.options.horizontal ? r.clientHeight : r.clientWidth, l = c();
			if (i.setProperty(a, "hidden", "important"), c() !== l) {
				i.setProperty(a, o, s);
				return;
			}
			let u = {
				restore: () => i.getPropertyValue(a) !== "hidden" || i.getPropertyPriority(a) !== "important" ? !1 : (i.setProperty(a, o, s), !0),
				done: e
			};
			this._momentumStop = u, n.requestAnimationFrame(() => n.requestAnimationFrame(() => {
				this._momentumStop === u && (this._momentumStop = null, u.restore() && u.done());
			}));
		}, this._clampedBy = (e) => {
			let t = this._elementMaxScrollOffset();
			if (t === null) return null;
			let n = t + this._holdOffset;
			return e > n + .5 ? {
				target: e,
				maxAtWrite: n
			} : null;
		}, this.getVirtualDistanceFromEnd = () => Math.max(this._getLayoutTotalSize() + this.options.scrollMargin - this.getSize() - this.getScrollOffset(), 0), this.getDistanceFromEnd = () => Math.max(this.getMaxScrollOffset() - this.getScrollOffset(), 0), this.isAtEnd = (e = this.options.scrollEndThreshold) => this.getDistanceFromEnd() <= e, this.getOffsetForAlignment = (e, t, n = 0) => {
			if (!this.scrollElement) return 0;
			let r = this.getSize(), i = this.getScrollOffset();
			t === "auto" && (t = e >= i + r ? "end" : "start"), t === "center" ? e += (n - r) / 2 : t === "end" && (e -= r);
			let a = this.getMaxScrollOffset();
			return Math.max(Math.min(a, e), 0);
		}, this.getOffsetForIndex = (e, t = "auto") => {
			e = Math.max(0, Math.min(e, this.options.count - 1));
			let n = this.getSize(), r = this.getScrollOffset(), i = this.getMeasurements()[e];
			if (!i) return;
			if (t === "auto") {
				if (i.end >= r + n - this.options.scrollPaddingEnd) t = "end";
				else if (i.start <= r + this.options.scrollPaddingStart) t = "start";
				else return [r, t];
			}
			if (t === "end" && e === this.options.count - 1) {
				let e = this.getMaxScrollOffset(), n = e - this.options.paddingEnd + this.options.scrollPaddingEnd;
				return [Math.max(Math.min(n, e), 0), t];
			}
			let a = t === "end" ? i.end + this.options.scrollPaddingEnd : i.start - this.options.scrollPaddingStart;
			return [this.getOffsetForAlignment(a, t, i.size), t];
		}, this.scrollToOffset = (e, { align: t = "start", behavior: n = "auto" } = {}) => {
			this._startScroll({
				index: null,
				align: t
			}, this.getOffsetForAlignment(e, t), n, "absolute");
		}, this.scrollToIndex = (e, { align: t = "auto", behavior: n = "auto" } = {}) => {
			e = Math.max(0, Math.min(e, this.options.count - 1));
			let r = this.getOffsetForIndex(e, t);
			if (!r) return;
			let [i, a] = r;
			this._startScroll({
				index: e,
				align: a
			}, i, n, "absolute");
		}, this.scrollBy = (e, { behavior: t = "auto" } = {}) => {
			let n = this.getOffsetForAlignment((this.getCommandWrittenOffset() ?? this.getScrollOffset()) + e, "start");
			this._startScroll({
				index: null,
				align: "start"
			}, n, t, "relative");
		}, this.scrollToEnd = ({ behavior: e = "auto" } = {}) => {
			this.options.count > 0 ? this._startScroll({
				index: this.options.count - 1,
				align: "end",
				toEnd: !0
			}, Math.max(this.getMaxScrollOffset(), 0), e, "absolute") : this.scrollToOffset(Math.max(this.getTotalSize() - this.getSize(), 0), { behavior: e });
		}, this.cancelScroll = () => {
			this.rafId != null && this.targetWindow && (this.targetWindow.cancelAnimationFrame(this.rafId), this.rafId = null), this.scrollState = null;
		}, this.getTotalSize = () => Math.max(this._getLayoutTotalSize() - this._holdOffset, 0), this._getLayoutTotalSize = () => {
			let e = this.getMeasurements(), t;
			if (e.length === 0) t = this.options.paddingStart;
			else if (this.options.lanes === 1) {
				let n = e.length - 1, r = this._singleLaneMeasurements?.flat;
				t = r == null ? e[n]?.end ?? 0 : r[n * 2] + r[n * 2 + 1];
			} else {
				let n = Array(this.options.lanes).fill(null), r = e.length - 1;
				for (; r >= 0 && n.some((e) => e === null);) {
					let t = e[r];
					n[t.lane] === null && (n[t.lane] = t.end), r--;
				}
				t = Math.max(...n.filter((e) => e !== null));
			}
			return Math.max(t - this.options.scrollMargin + this.options.paddingEnd, 0);
		}, this.takeSnapshot = () => {
			let e = [];
			if (this.itemSizeCache.size === 0) return e;
			let t = this.getMeasurements();
			for (let n of t) n && this.itemSizeCache.has(n.key) && e.push({
				index: n.index,
				key: n.key,
				start: n.start,
				size: n.size,
				end: n.end,
				lane: n.lane
			});
			return e;
		}, this._scrollToOffset = (e, { adjustments: t, behavior: n } = {}) => {
			let r = {
				target: e + (t ?? 0),
				smooth: n === "smooth"
			};
			return this.pendingWrite = r, this.options.scrollToFn(e - this._holdOffset, {
				behavior: n,
				adjustments: t
			}, this), r;
		}, this.getCommandWrittenOffset = () => this.scrollState !== null && this.pendingWrite !== null && !this.pendingWrite.smooth ? this.pendingWrite.target : null, this._awaitingCommandReadBack = () => {
			let e = this.getCommandWrittenOffset();
			return !(ep() && this._iosGesture.dragging()) && e !== null && !Gf(e, this.getScrollOffset());
		}, this._followOffsetTarget = (e) => {
			this.scrollState !== null && this.scrollState.index == null && (this.scrollState.lastTargetOffset += e);
		}, this.measure = () => {
			this.pendingMin = null, this.itemSizeCache.clear(), this.laneAssignments.clear(), this.itemSizeCacheVersion++, this.notify(!1);
		}, this.setOptions(e);
	}
	get scrollAdjustments() {
		return 0;
	}
	applyScrollAdjustment(e, t) {
		if (e === 0) return !1;
		if (this._followOffsetTarget(e), this._canWriteScroll()) {
			let n = this.getScrollOffset();
			this._clampedAdjustment = this._clampedBy(n + e);
			let r = this._scrollToOffset(n, {
				adjustments: e,
				behavior: t
			});
			return this.scrollOffset !== null && (this.pendingWrite === r && (this.scrollOffset += e), this.scrollOffset < 0 && (this.scrollOffset = 0)), !0;
		}
		return this._holdOffset += e, this.scrollOffset !== null && (this.scrollOffset += e), !0;
	}
	scheduleScrollReconcile() {
		this.targetWindow ? this.rafId ??= this.targetWindow.requestAnimationFrame(() => {
			this.rafId = null, this.reconcileScroll();
		}) : this.scrollState = null;
	}
	getScrollStateTarget(e) {
		let t = e.toEnd ? [Math.max(this.getMaxScrollOffset(), 0)] : e.index == null ? void 0 : this.getOffsetForIndex(e.index, e.align);
		return t ? t[0] : e.lastTargetOffset;
	}
	reconcileScroll() {
		if (!this.scrollState || !this.scrollElement) return;
		if (this.now() - this.scrollState.startedAt > 5e3) {
			this.scrollState = null;
			return;
		}
		if (this.scrollState.phase === "queued") {
			this.scheduleScrollReconcile();
			return;
		}
		this.getMeasurements();
		let e = this.getScrollStateTarget(this.scrollState), t = this.scrollState.index == null ? 1 : this.options.useAnimationFrameWithResizeObserver ? 3 : 2, n = e !== this.scrollState.lastTargetOffset;
		if (!n && Gf(e, this.getScrollOffset())) {
			if (this.scrollState.phase === "smooth" ? this.scrollState.phase = "smoothLanded" : this.scrollState.phase === "smoothFinishing" && (this.scrollState.phase = "instant"), this.scrollState.stableFrames++, this.scrollState.stableFrames >= t) {
				this.getScrollOffset() !== e && this._scrollToOffset(e, { behavior: "auto" }), this.scrollState = null;
				return;
			}
		} else if (this.scrollState.stableFrames = 0, n) {
			let t = this.getSize() || 600, n = Math.abs(e - this.getScrollOffset()), r = vp(this.scrollState) && n > t;
			this.scrollState.lastTargetOffset = e, r ? this.scrollState.phase = "smooth" : this.scrollState.phase === "smooth" ? this.scrollState.phase = "smoothFinishing" : this.scrollState.phase === "smoothLanded" && (this.scrollState.phase = "instant"), this._scrollToOffset(e, { behavior: r ? "smooth" : "auto" });
		}
		this.scheduleScrollReconcile();
	}
	_startScroll(e, t, n, r) {
		this.pendingScrollAnchor = null, this._clampedAdjustment = null;
		let i = this._iosGesture.tail();
		if (r === "absolute" && i !== null) {
			if (i === "fling" && rp()) {
				this._stopMomentum(() => {
					this.scrollState?.phase !== "queued" || this._iosGesture.tail() !== "fling" || this._reportedOverscroll || (this._iosGesture.end(), this._flushHoldIfReady(!0), this._writeAwaitingCommand());
				}), this.scrollState = {
					...e,
					startedAt: this.now(),
					lastTargetOffset: t,
					stableFrames: 0,
					phase: "queued",
					behavior: n,
					samples: []
				}, this.scheduleScrollReconcile();
				return;
			}
			this._iosGesture.end();
		}
		this.scrollState = {
			...e,
			startedAt: this.now(),
			lastTargetOffset: t,
			stableFrames: 0,
			behavior: n,
			phase: _p(n, e.index != null && Gf(t, this.getScrollOffset()))
		}, this._scrollToOffset(t, { behavior: n }), this.scheduleScrollReconcile();
	}
}, xp = (e, t, n, r) => {
	for (; e <= t;) {
		let i = (e + t) / 2 | 0, a = n(i);
		if (a < r) e = i + 1;
		else if (a > r) t = i - 1;
		else return i;
	}
	return e > 0 ? e - 1 : 0;
};
function Sp(e, t, n) {
	let r = 0;
	for (; r <= t;) {
		let i = (r + t) / 2 | 0, a = e[i * 2];
		if (a < n) r = i + 1;
		else if (a > n) t = i - 1;
		else return i;
	}
	return r > 0 ? r - 1 : 0;
}
function Cp(e, t, n, r, i) {
	let a = e.length - 1;
	if (e.length <= r) return {
		startIndex: 0,
		endIndex: a
	};
	if (r === 1 && i !== null) {
		let e = Sp(i, a, n), r = e, o = n + t;
		for (; r < a && i[r * 2] + i[r * 2 + 1] < o;) r++;
		return {
			startIndex: e,
			endIndex: r
		};
	}
	let o = xp(0, a, (t) => e[t].start, n), s = o;
	if (r === 1) for (; s < a && e[s].end < n + t;) s++;
	else if (r > 1) {
		let i = Array(r).fill(0);
		for (; s < a && i.some((e) => e < n + t);) {
			let t = e[s];
			i[t.lane] = t.end, s++;
		}
		let c = Array(r).fill(n + t);
		for (; o >= 0 && c.some((e) => e >= n);) {
			let t = e[o];
			c[t.lane] = t.start, o--;
		}
		o = Math.max(0, o - o % r), s = Math.min(a, s + (r - 1 - s % r));
	}
	return {
		startIndex: o,
		endIndex: s
	};
}
// src/components/table/useVirtualRows.ts
var wp = 30;
function Tp(e, t, { enabled: n, opened: r }) {
	let [, i] = Oe((e) => e + 1, 0), a = {
		count: e.length,
		enabled: n,
		overscan: 12,
		estimateSize: () => wp,
		getItemKey: (t) => e[t] ?? t,
		getScrollElement: () => t.current,
		scrollToFn: gp,
		observeElementRect: up,
		observeElementOffset: mp,
		onChange: () => i(0)
	}, [o] = z(() => new bp(a));
	o.setOptions(a), ke(() => o._didMount(), [o]), ke(() => o._willUpdate()), ke(() => {
		r || o.measure();
	}, [o, r]);
	let s = n ? o.getVirtualItems() : [];
	return {
		items: s,
		above: s[0]?.start ?? 0,
		below: n ? o.getTotalSize() - (s.at(-1)?.end ?? 0) : 0,
		measure: r ? o.measureElement : null
	};
}
function Ep({ block: e, arranged: t, measures: n, scrolled: r, printing: i }) {
	let a = t.rows.length > 60 && !i, [o, s] = z(/* @__PURE__ */ new Set()), { items: c, above: l, below: u, measure: d } = Tp(t.rows, r, {
		enabled: a,
		opened: o.size > 0
	}), f = (e) => {
		let t = new Set(o);
		t.delete(e) || t.add(e), s(t);
	}, p = (r, i, a = null) => /* @__PURE__ */ H("tr", {
		ref: a,
		"data-index": i,
		"aria-rowindex": i + 2,
		class: o.has(r) ? "open" : "",
		children: t.columns.map((i, a) => /* @__PURE__ */ H(If, {
			column: i,
			value: df(i, r),
			measures: n[a],
			words: t.query.words,
			row: () => ff(e, r),
			onOpen: () => f(r),
			open: o.has(r)
		}, i.key))
	}, r);
	if (!a) return /* @__PURE__ */ H("tbody", { children: (t.rows.length > 60 ? t.rows.slice(0, 50) : t.rows).map((e, t) => p(e, t)) });
	let m = t.columns.length;
	return /* @__PURE__ */ H("tbody", { children: [
		/* @__PURE__ */ H(Dp, {
			height: l,
			width: m
		}),
		c.map(({ index: e }) => p(t.rows[e], e, d)),
		/* @__PURE__ */ H(Dp, {
			height: u,
			width: m
		})
	] });
}
function Dp({ height: e, width: t }) {
	return e <= 0 ? null : /* @__PURE__ */ H("tr", {
		class: "room",
		children: /* @__PURE__ */ H("td", {
			colSpan: t,
			style: { height: `${e}px` }
		})
	});
}
// src/components/table/Head.tsx
function Op({ columns: e, sort: t, onSort: n }) {
	return /* @__PURE__ */ H("thead", { children: /* @__PURE__ */ H("tr", { children: e.map((e) => {
		let r = t?.key === e.key ? t : null;
		return /* @__PURE__ */ H("th", {
			scope: "col",
			class: pf(e) ? "number" : "",
			"aria-sort": r ? r.descending ? "descending" : "ascending" : "none",
			children: /* @__PURE__ */ H("button", {
				type: "button",
				onClick: () => n(e),
				title: e.help || void 0,
				children: [/* @__PURE__ */ H("span", { children: e.title }), /* @__PURE__ */ H("span", {
					class: "arrow",
					children: r && /* @__PURE__ */ H(U, {
						name: r.descending ? "down" : "up",
						size: 12
					})
				})]
			})
		}, e.key);
	}) }) });
}
// src/components/table/copying.ts
var kp = {
	time_ns: "ns",
	moment_ns: "ns",
	bytes: "bytes",
	bytes_per_s: "bytes/s",
	percent: "%"
};
function Ap(e, t) {
	let n = e.map(({ title: e, kind: t }) => {
		let n = kp[t];
		return jp(n ? `${e} (${n})` : e);
	}), r = t.map((t) => e.map((e) => jp(df(e, t))).join("	"));
	return `${[n.join("	"), ...r].join("\n")}\n`;
}
function jp(e) {
	return e === null ? "" : String(e).replace(/[\t\r\n]+/g, " ");
}
async function Mp(e) {
	try {
		await navigator.clipboard.writeText(e);
	} catch {
		let t = document.createElement("textarea");
		t.value = e, document.body.append(t), t.select(), document.execCommand("copy"), t.remove();
	}
}
function Np(e, t, n) {
	let { rows: r, total_rows: i } = e, a = (e) => J("count", e), o = [];
	return t < r ? (o.push(`${a(t)} of ${a(r)} rows match`), r < i && o.push(`${a(i - r)} more were left out`)) : r < i ? o.push(`${a(r)} of ${a(i)} rows, the rest was left out`) : o.push(`${a(r)} ${r === 1 ? "row" : "rows"}`), n < t && o.push(`the first ${a(n)} are shown`), o.join("; ");
}
// src/components/table/Toolbar.tsx
function Pp({ block: e, arranged: t, state: n, onState: r, shown: i }) {
	return /* @__PURE__ */ H("div", {
		class: "toolbar",
		children: [
			/* @__PURE__ */ H("label", {
				class: "search",
				children: [
					/* @__PURE__ */ H(U, {
						name: "search",
						size: 14
					}),
					/* @__PURE__ */ H("span", {
						class: "visually-hidden",
						children: ["Search in ", e.title || "the table"]
					}),
					/* @__PURE__ */ H("input", {
						type: "search",
						class: "input",
						placeholder: "Search",
						title: "Words that must be found, and conditions such as calls>100 or >10us (of the column sorted by)",
						value: n.search ?? "",
						onInput: (e) => r({
							...n,
							search: e.currentTarget.value || void 0
						})
					})
				]
			}),
			/* @__PURE__ */ H("span", {
				class: "rows",
				role: "status",
				children: Np(e, t.rows.length, i)
			}),
			/* @__PURE__ */ H("span", { class: "room" }),
			e.columns.length > 1 && /* @__PURE__ */ H(Ip, {
				block: e,
				arranged: t,
				state: n,
				onState: r
			}),
			/* @__PURE__ */ H(Fp, { arranged: t })
		]
	});
}
function Fp({ arranged: e }) {
	let [t, n] = z(!1);
	return B(() => {
		if (!t) return;
		let e = setTimeout(() => n(!1), 1500);
		return () => clearTimeout(e);
	}, [t]), /* @__PURE__ */ H("button", {
		type: "button",
		class: "button",
		onClick: async () => {
			await Mp(Ap(e.columns, e.rows)), n(!0);
		},
		title: "Copy the rows for a spreadsheet",
		children: [/* @__PURE__ */ H(U, {
			name: t ? "good" : "copy",
			size: 14
		}), /* @__PURE__ */ H("span", {
			"aria-live": "polite",
			children: t ? "Copied" : "Copy"
		})]
	});
}
function Ip({ block: e, arranged: t, state: n, onState: r }) {
	let i = V(null);
	Lp(i);
	let a = new Set(t.columns.map(({ key: e }) => e)), o = (t) => {
		let i = e.columns.map((e) => e.key).filter((e) => e === t ? !a.has(e) : a.has(e));
		i.length && r({
			...n,
			columns: i
		});
	}, s = e.columns.length - a.size;
	return /* @__PURE__ */ H("details", {
		class: "menu",
		ref: i,
		children: [/* @__PURE__ */ H("summary", {
			class: "button",
			children: [
				/* @__PURE__ */ H(U, {
					name: "columns",
					size: 14
				}),
				"Columns",
				s > 0 && /* @__PURE__ */ H("span", {
					class: "quiet",
					children: [" +", s]
				})
			]
		}), /* @__PURE__ */ H("fieldset", { children: [
			/* @__PURE__ */ H("legend", {
				class: "visually-hidden",
				children: "Columns to show"
			}),
			e.columns.map(({ key: e, title: t, help: n }) => /* @__PURE__ */ H("label", {
				title: n || void 0,
				children: [/* @__PURE__ */ H("input", {
					type: "checkbox",
					checked: a.has(e),
					onChange: () => o(e)
				}), t]
			}, e)),
			n.columns && /* @__PURE__ */ H("button", {
				type: "button",
				class: "button",
				onClick: () => r({
					...n,
					columns: void 0
				}),
				children: "As before"
			})
		] })]
	});
}
function Lp(e) {
	B(() => {
		let t = (t) => {
			e.current?.open && !e.current.contains(t.target) && (e.current.open = !1);
		}, n = (t) => {
			t.key === "Escape" && e.current?.open && (e.current.open = !1, e.current.querySelector("summary")?.focus());
		};
		return document.addEventListener("click", t), document.addEventListener("keydown", n), () => {
			document.removeEventListener("click", t), document.removeEventListener("keydown", n);
		};
	}, [e]);
}
// src/components/table/usePrinting.ts
function Rp() {
	let [e, t] = z(!1);
	return B(() => {
		let e = () => zp(() => t(!0)), n = () => t(!1);
		return addEventListener("beforeprint", e), addEventListener("afterprint", n), () => {
			removeEventListener("beforeprint", e), removeEventListener("afterprint", n);
		};
	}, []), e;
}
function zp(t) {
	let { debounceRendering: n } = e;
	e.debounceRendering = (e) => e(), t(), n ? e.debounceRendering = n : delete e.debounceRendering;
}
// src/components/Table.tsx
var Bp = .875;
function Vp({ block: e, state: t, onState: n }) {
	let [r, i] = Lc("tables", e.id), a = n ? t ?? {} : r, o = n ?? i, s = V(null), c = Rp(), l = Ae(() => wf(e), [e]), u = Ae(() => l(a), [l, a]), d = Ae(() => Mf(u.columns, e.rows, e.rows > 60), [u.columns, e.rows]), f = (t) => {
		o({
			...a,
			sort: kf(e, t, u.sort)
		}), s.current?.scrollTo({ top: 0 });
	}, p = u.rows.length > 60, m = u.query.words.length + u.query.conditions.length > 0;
	return /* @__PURE__ */ H("figure", {
		class: "table-block",
		children: [
			/* @__PURE__ */ H(An, { title: e.title }),
			e.rows > 0 && /* @__PURE__ */ H(b, { children: [(e.rows > 5 || m || e.rows < e.total_rows) && /* @__PURE__ */ H(Pp, {
				block: e,
				arranged: u,
				state: a,
				onState: o,
				shown: c && p ? 50 : u.rows.length
			}), /* @__PURE__ */ H("section", {
				class: p ? "scrolled long" : "scrolled",
				ref: s,
				tabIndex: 0,
				"aria-label": e.title || "Table",
				children: [/* @__PURE__ */ H("table", {
					"aria-rowcount": u.rows.length + 1,
					style: Hp(d),
					children: [
						/* @__PURE__ */ H("colgroup", { children: d.map(({ width: e }, t) => /* @__PURE__ */ H("col", { style: e === null ? void 0 : { width: `calc(${e}ch + ${Bp}rem)` } }, u.columns[t]?.key)) }),
						/* @__PURE__ */ H(Op, {
							columns: u.columns,
							sort: u.sort,
							onSort: f
						}),
						/* @__PURE__ */ H(Ep, {
							block: e,
							arranged: u,
							measures: d,
							scrolled: s,
							printing: c
						}, p ? "long" : "short")
					]
				}), u.rows.length === 0 && /* @__PURE__ */ H("p", {
					class: "empty",
					children: "No row matches the search."
				})]
			})] }),
			e.note && /* @__PURE__ */ H("p", {
				class: "table-note",
				children: e.note
			})
		]
	});
}
function Hp(e) {
	let t = e.reduce((e, { width: t }) => e + (t ?? 26), 0), n = `calc(${Math.ceil(t)}ch + ${e.length * Bp}rem)`;
	return {
		"--least": n,
		"--width": e.some(({ width: e }) => e === null) ? "100%" : n
	};
}
// src/components/Icicle.tsx
var Up = "Arrow keys go from node to node, Enter zooms, Escape goes back.";
function Wp({ block: e }) {
	let [t, n] = Lc("icicles", e.id), r = Ae(() => Oc(e), [e]), i = V(null), [a, o] = z(-1), s = t.node !== void 0 && t.node < e.parent.length ? t.node : -1, c = t.search ?? "";
	Jp(i, () => {
		let t = {
			zoomed: s,
			current: a,
			search: c.toLowerCase()
		};
		i.current && wc(i.current, e, r, t);
	});
	let l = (e) => n({
		...t,
		node: e < 0 ? void 0 : e
	}), u = (e) => {
		let [t, n] = Sc(r, s), a = e.offsetX / (i.current?.clientWidth || 1);
		return kc(r, t + a * (n - t), Math.floor(e.offsetY / 22));
	}, d = (t) => {
		if (t.key.startsWith("Arrow")) o(a < 0 ? Math.max(s, 0) : jc(e, r, a, t.key));
		else if (t.key === "Enter" && a >= 0) l(a);
		else if (t.key === "Escape") l(s >= 0 ? e.parent[s] ?? -1 : -1);
		else return;
		t.preventDefault();
	}, f = a >= 0 ? a : s;
	return /* @__PURE__ */ H("figure", {
		class: "icicle",
		children: [
			/* @__PURE__ */ H(An, { title: e.title }),
			/* @__PURE__ */ H("div", {
				class: "toolbar",
				children: [
					/* @__PURE__ */ H(Kp, {
						block: e,
						zoomed: s,
						onZoom: l
					}),
					/* @__PURE__ */ H("span", { class: "room" }),
					/* @__PURE__ */ H("label", {
						class: "search",
						children: [
							/* @__PURE__ */ H(U, {
								name: "search",
								size: 14
							}),
							/* @__PURE__ */ H("span", {
								class: "visually-hidden",
								children: ["Search in ", e.title || "the tree"]
							}),
							/* @__PURE__ */ H("input", {
								type: "search",
								class: "input",
								placeholder: "Search",
								value: c,
								onInput: (e) => n({
									...t,
									search: e.currentTarget.value || void 0
								})
							})
						]
					})
				]
			}),
			/* @__PURE__ */ H("canvas", {
				ref: i,
				tabIndex: 0,
				role: "application",
				"aria-label": `${e.title || "Tree"}. ${Up} The table below has the same figures.`,
				style: { height: `${r.depths * 22}px` },
				onMouseMove: (e) => o(u(e)),
				onMouseLeave: () => o(-1),
				onClick: (t) => {
					let n = u(t);
					n >= 0 && l(n === s ? e.parent[n] ?? -1 : n);
				},
				onKeyDown: d
			}),
			/* @__PURE__ */ H("p", {
				class: "told",
				"aria-live": "polite",
				children: f >= 0 ? /* @__PURE__ */ H(Gp, {
					block: e,
					node: f
				}) : `Click a bar to zoom into it. ${Up}`
			}),
			/* @__PURE__ */ H(qp, { block: e })
		]
	});
}
function Gp({ block: e, node: t }) {
	return /* @__PURE__ */ H(b, { children: [/* @__PURE__ */ H("b", { children: Mc(e, t) }), Nc(e, t).map(([e, t]) => /* @__PURE__ */ H("span", { children: [
		e,
		" ",
		t
	] }, e + t))] });
}
function Kp(e) {
	let { block: t, zoomed: n, onZoom: r } = e;
	return /* @__PURE__ */ H("nav", {
		class: "breadcrumb",
		"aria-label": "Place in the tree",
		children: [/* @__PURE__ */ H("button", {
			type: "button",
			disabled: n < 0,
			onClick: () => r(-1),
			children: "all"
		}), Ac(t.parent, n).map((e) => /* @__PURE__ */ H("button", {
			type: "button",
			disabled: e === n,
			onClick: () => r(e),
			children: Mc(t, e)
		}, e))]
	});
}
function qp({ block: e }) {
	let [t, n] = z(!1), r = Ae(() => t ? Fc(e) : null, [t, e]);
	return /* @__PURE__ */ H("details", {
		class: "as-table",
		onToggle: (e) => n(e.currentTarget.open),
		children: [/* @__PURE__ */ H("summary", { children: [/* @__PURE__ */ H(U, {
			name: "down",
			size: 12
		}), "The tree as a table"] }), r && /* @__PURE__ */ H(Vp, { block: r })]
	});
}
function Jp(e, t) {
	let n = V(t);
	n.current = t, B(t), B(() => {
		let t = () => n.current(), r = new ResizeObserver(t);
		e.current && r.observe(e.current);
		let i = fe(t);
		return () => {
			r.disconnect(), i();
		};
	}, [e]);
}
// src/components/colours.ts
function Yp(e, t) {
	return `var(--part-${e.replace(/[^\w-]/g, "") || "none"}, var(--part-${t % 8 + 1}))`;
}
// src/components/Parts.tsx
function Xp({ block: e }) {
	let t = (t) => e.total > 0 ? t / e.total : 0;
	return /* @__PURE__ */ H("figure", {
		class: "parts",
		children: [
			/* @__PURE__ */ H(An, { title: e.title }),
			/* @__PURE__ */ H("div", {
				class: "whole",
				"aria-hidden": "true",
				children: e.parts.map((n, r) => /* @__PURE__ */ H("div", {
					title: `${n.name}: ${J(e.kind, n.value)}, ${J("share", t(n.value))}`,
					style: {
						flexGrow: t(n.value),
						background: Yp(n.id, r)
					},
					children: t(n.value) >= .08 && /* @__PURE__ */ H("span", { children: J("share", t(n.value)) })
				}, n.id))
			}),
			/* @__PURE__ */ H("table", { children: [/* @__PURE__ */ H("tbody", { children: e.parts.map((n, r) => /* @__PURE__ */ H("tr", { children: [
				/* @__PURE__ */ H("th", {
					scope: "row",
					children: [/* @__PURE__ */ H("span", {
						class: "swatch",
						style: { background: Yp(n.id, r) }
					}), n.name]
				}),
				/* @__PURE__ */ H("td", {
					class: "number",
					children: J(e.kind, n.value)
				}),
				/* @__PURE__ */ H("td", {
					class: "number",
					children: J("share", t(n.value))
				}),
				/* @__PURE__ */ H("td", {
					class: "help",
					children: n.help
				})
			] }, n.id)) }), /* @__PURE__ */ H("tfoot", { children: /* @__PURE__ */ H("tr", { children: [
				/* @__PURE__ */ H("th", {
					scope: "row",
					children: [/* @__PURE__ */ H("span", { class: "swatch" }), "all"]
				}),
				/* @__PURE__ */ H("td", {
					class: "number",
					children: J(e.kind, e.total)
				}),
				/* @__PURE__ */ H("td", {}),
				/* @__PURE__ */ H("td", {})
			] }) })] })
		]
	});
}
// src/components/Picture.tsx
function Zp({ block: e }) {
	let { width: t, height: n } = Qp(e.svg);
	return /* @__PURE__ */ H("figure", {
		class: "picture",
		children: [/* @__PURE__ */ H("div", {
			class: "paper",
			children: /* @__PURE__ */ H("img", {
				src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(e.svg)}`,
				alt: [e.title, e.caption].filter(Boolean).join(". "),
				...t && n ? {
					width: t,
					height: n
				} : {}
			})
		}), (e.title || e.caption) && /* @__PURE__ */ H("figcaption", { children: [
			e.title && /* @__PURE__ */ H("strong", { children: e.title }),
			" ",
			/* @__PURE__ */ H(K, { text: e.caption })
		] })]
	});
}
function Qp(e) {
	let [, , t = 0, n = 0] = (/<svg[^>]*\sviewBox\s*=\s*["']\s*([^"']+)["']/.exec(e)?.[1] ?? "").trim().split(/[\s,]+/).map(Number);
	return {
		width: Math.round(t) || 0,
		height: Math.round(n) || 0
	};
}
// src/components/Stacks.tsx
function $p({ block: e }) {
	let t = e.labels.map((t, n) => em(e.parts.map(({ values: e }) => e[n] ?? 0))), n = Math.max(...t, Number.MIN_VALUE);
	return /* @__PURE__ */ H("figure", {
		class: "stacks",
		children: [
			/* @__PURE__ */ H(An, { title: e.title }),
			/* @__PURE__ */ H("ul", {
				class: "legend",
				children: e.parts.map((e, t) => /* @__PURE__ */ H("li", { children: [/* @__PURE__ */ H("span", {
					class: "swatch",
					style: { background: Yp(e.id, t) }
				}), e.name] }, e.id))
			}),
			/* @__PURE__ */ H("div", {
				class: "bars",
				children: /* @__PURE__ */ H("table", { children: /* @__PURE__ */ H("tbody", { children: e.labels.map((r, i) => /* @__PURE__ */ H("tr", { children: [
					/* @__PURE__ */ H("th", {
						scope: "row",
						children: r
					}),
					/* @__PURE__ */ H("td", { children: /* @__PURE__ */ H("div", {
						class: "bar",
						style: { width: `${100 * (t[i] ?? 0) / n}%` },
						children: e.parts.map((t, n) => /* @__PURE__ */ H("div", {
							style: {
								flexGrow: t.values[i] ?? 0,
								background: Yp(t.id, n)
							},
							title: `${r}, ${t.name}: ${J(e.kind, t.values[i])}`
						}, t.id))
					}) }),
					/* @__PURE__ */ H("td", {
						class: "number",
						children: J(e.kind, t[i])
					})
				] }, r)) }) })
			})
		]
	});
}
function em(e) {
	return e.reduce((e, t) => e + t, 0);
}
// src/components/Text.tsx
function tm({ block: e }) {
	return e.tone === "plain" ? /* @__PURE__ */ H("p", {
		class: "text",
		children: /* @__PURE__ */ H(K, { text: e.text })
	}) : /* @__PURE__ */ H("p", {
		class: `note tone-${e.tone}`,
		children: [/* @__PURE__ */ H(U, { name: ut(e.tone) }), /* @__PURE__ */ H("span", { children: /* @__PURE__ */ H(K, { text: e.text }) })]
	});
}
// src/components/Tiles.tsx
function nm({ block: e }) {
	return /* @__PURE__ */ H("dl", {
		class: "tiles",
		children: e.tiles.map((e) => /* @__PURE__ */ H(rm, { tile: e }, e.label))
	});
}
function rm({ tile: e }) {
	let { digits: t, unit: n } = vn(e.kind, e.value);
	return /* @__PURE__ */ H("div", {
		class: `tile tone-${e.tone}`,
		title: e.help || void 0,
		children: [
			/* @__PURE__ */ H("dt", { children: [e.tone !== "plain" && /* @__PURE__ */ H(U, {
				name: ut(e.tone),
				size: 13
			}), e.label] }),
			/* @__PURE__ */ H("dd", { children: [
				/* @__PURE__ */ H("span", {
					class: "figure",
					children: t
				}),
				n && /* @__PURE__ */ H("span", {
					class: "unit",
					children: [" ", n]
				}),
				e.help && /* @__PURE__ */ H("span", {
					class: "visually-hidden",
					children: [", ", e.help]
				})
			] }),
			e.share !== null && /* @__PURE__ */ H("div", {
				class: "meter",
				"aria-hidden": "true",
				children: /* @__PURE__ */ H("div", { style: { width: `${100 * Math.min(Math.max(e.share, 0), 1)}%` } })
			})
		]
	});
}
// src/components/Verdict.tsx
var im = {
	regression: ["slower", "bad"],
	improvement: ["faster", "good"],
	no_change: ["same", "notice"],
	incomparable: ["unknown", "warning"]
};
function am({ block: e }) {
	let [t, n] = im[e.verdict] ?? im.incomparable;
	return /* @__PURE__ */ H("div", {
		class: `verdict tone-${n}`,
		children: [
			/* @__PURE__ */ H("div", {
				class: "word",
				children: [
					/* @__PURE__ */ H(U, {
						name: t,
						size: 30
					}),
					/* @__PURE__ */ H("strong", { children: e.word }),
					e.change !== null && /* @__PURE__ */ H("span", {
						class: "change",
						children: yn("share", e.change)
					})
				]
			}),
			/* @__PURE__ */ H("p", {
				class: "sentence",
				children: /* @__PURE__ */ H(K, { text: e.sentence })
			}),
			/* @__PURE__ */ H("div", {
				class: "measured",
				children: [/* @__PURE__ */ H("dl", { children: [
					/* @__PURE__ */ H("dt", { children: e.base.label }),
					/* @__PURE__ */ H("dd", { children: J(e.kind, e.base.value) }),
					/* @__PURE__ */ H("dt", { children: e.new.label }),
					/* @__PURE__ */ H("dd", { children: J(e.kind, e.new.value) })
				] }), /* @__PURE__ */ H(om, { block: e })]
			}),
			e.notes.length > 0 && /* @__PURE__ */ H("ul", {
				class: "notes",
				children: e.notes.map((e) => /* @__PURE__ */ H("li", { children: /* @__PURE__ */ H(K, { text: e }) }, e))
			})
		]
	});
}
function om({ block: e }) {
	let { change: t, low: n, high: r } = e;
	if (t === null || n === null || r === null) return null;
	let i = jn([
		t,
		n,
		r
	]), a = `${yn("share", t)}, between ${yn("share", n)} and ${yn("share", r)}`;
	return /* @__PURE__ */ H("div", {
		class: "interval",
		role: "img",
		"aria-label": a,
		title: a,
		children: [/* @__PURE__ */ H("div", {
			class: "axis",
			children: [
				/* @__PURE__ */ H("div", {
					class: "zero",
					style: { left: `${i(0)}%` }
				}),
				/* @__PURE__ */ H("div", {
					class: "range",
					style: Pn(i, n, r)
				}),
				/* @__PURE__ */ H("div", {
					class: "dot",
					style: { left: `${i(t)}%` }
				})
			]
		}), /* @__PURE__ */ H("div", {
			class: "ends",
			"aria-hidden": "true",
			children: [
				/* @__PURE__ */ H("span", {
					style: { left: `${i(0)}%` },
					children: "0"
				}),
				/* @__PURE__ */ H("span", {
					style: { left: `${i(n)}%` },
					children: yn("share", n)
				}),
				/* @__PURE__ */ H("span", {
					style: { left: `${i(r)}%` },
					children: yn("share", r)
				})
			]
		})]
	});
}
// src/components/BlockView.tsx
function sm({ block: e }) {
	switch (e.type) {
		case "text": return /* @__PURE__ */ H(tm, { block: e });
		case "facts": return /* @__PURE__ */ H(hc, { block: e });
		case "tiles": return /* @__PURE__ */ H(nm, { block: e });
		case "parts": return /* @__PURE__ */ H(Xp, { block: e });
		case "stacks": return /* @__PURE__ */ H($p, { block: e });
		case "findings": return /* @__PURE__ */ H(_c, { block: e });
		case "verdict": return /* @__PURE__ */ H(am, { block: e });
		case "attribution": return /* @__PURE__ */ H(Fn, { block: e });
		case "causes": return /* @__PURE__ */ H(Kn, { block: e });
		case "table": return /* @__PURE__ */ H(Vp, { block: e });
		case "curves": return /* @__PURE__ */ H(fc, { block: e });
		case "picture": return /* @__PURE__ */ H(Zp, { block: e });
		case "icicle": return /* @__PURE__ */ H(Wp, { block: e });
		case "health": return /* @__PURE__ */ H(bc, { block: e });
		default: return null;
	}
}
// src/components/SectionView.tsx
function cm({ section: e }) {
	let { id: t, title: n, lead: r, blocks: i } = e, a = i.findIndex((e) => e.type === "causes"), o = a > 0 && i[0]?.type === "verdict";
	return /* @__PURE__ */ H("section", {
		class: `section ${o ? "split" : ""}`,
		id: t,
		"aria-labelledby": `${t}-title`,
		children: [
			/* @__PURE__ */ H("h2", {
				id: `${t}-title`,
				children: n
			}),
			r && /* @__PURE__ */ H("p", {
				class: "lead",
				children: /* @__PURE__ */ H(K, { text: r })
			}),
			/* @__PURE__ */ H("div", {
				class: "columns",
				children: [/* @__PURE__ */ H(lm, {
					title: n,
					blocks: o ? i.slice(0, a) : i
				}), o && /* @__PURE__ */ H(lm, {
					title: n,
					blocks: i.slice(a)
				})]
			})
		]
	});
}
function lm({ title: e, blocks: t }) {
	return /* @__PURE__ */ H("div", {
		class: "column",
		children: um(t).map((t, n, r) => /* @__PURE__ */ H(kn.Provider, {
			value: [e, dm(r[n - 1]?.at(-1))],
			children: t.length > 1 ? /* @__PURE__ */ H("div", {
				class: "pictures",
				children: t.map((e, t) => /* @__PURE__ */ H(sm, { block: e }, t))
			}) : t[0] && /* @__PURE__ */ H(sm, { block: t[0] })
		}, n))
	});
}
function um(e) {
	let t = [];
	for (let n of e) {
		let e = t.at(-1);
		n.type === "picture" && e?.[0]?.type === "picture" ? e.push(n) : t.push([n]);
	}
	return t;
}
function dm(e) {
	return e && "title" in e ? e.title : "";
}
// src/components/DocumentView.tsx
function fm({ document: e, links: t, state: n, onState: r, nav: i = !0 }) {
	let a = Ae(() => r ? {
		state: n ?? {},
		onState: r
	} : null, [n, r]), o = i && e.sections.length > 1;
	return /* @__PURE__ */ H(dn.Provider, {
		value: t ?? un,
		children: /* @__PURE__ */ H(Ic.Provider, {
			value: a,
			children: /* @__PURE__ */ H("article", {
				class: `document ${o ? "with-nav" : ""}`,
				children: [
					/* @__PURE__ */ H(ln, { document: e }),
					o && /* @__PURE__ */ H(fn, { sections: e.sections }),
					/* @__PURE__ */ H("div", {
						class: "sections",
						children: e.sections.map((e) => /* @__PURE__ */ H(cm, { section: e }, e.id))
					})
				]
			})
		})
	});
}
// src/app/api/useLoaded.ts
function pm(e) {
	let { client: t, cache: n, contact: r } = rt(), [i, a] = Oe((e, t) => e + 1, 0), [o, s] = z({
		key: "",
		address: ""
	}), c = e ? t.href(e.path, e.params) : "", l = e ? `${c} ${e.version}` : "", u = l ? n.get(l) : void 0, d = o.key === l ? o : null;
	B(() => {
		if (!e || n.get(l) !== void 0) return;
		let r = new AbortController(), i = (e) => s((t) => ({
			value: t.address === c ? t.value : void 0,
			key: l,
			address: c,
			...e
		}));
		return i({}), t.json(e.path, e.params, {
			signal: r.signal,
			onProgress: (e) => i({ progress: e })
		}).then((e) => {
			r.signal.aborted || (n.set(l, e), i({ value: e }));
		}).catch((e) => {
			!Je(e) && !r.signal.aborted && i({ error: Ye(e) });
		}), () => r.abort();
	}, [l, i]);
	let f = d?.error?.status === 0;
	B(() => {
		f && a(null);
	}, [r]);
	let p = o.address === c ? o.value : void 0, m = u ?? p, h = u === void 0 ? d?.error ?? null : null;
	return {
		value: m,
		error: h,
		progress: d?.progress ?? null,
		loading: l !== "" && u === void 0 && !h,
		retry: () => a(null)
	};
}
// src/app/layout/ChangedBar.tsx
function mm({ onShow: e }) {
	return /* @__PURE__ */ H("p", {
		class: "notice-bar",
		role: "status",
		children: ["The recording changed since this was read.", /* @__PURE__ */ H("button", {
			type: "button",
			class: "button",
			onClick: e,
			children: "Show it"
		})]
	});
}
// src/app/links.ts
var hm = {
	operators: "operators",
	"launch-sites": "operators",
	kernels: "kernels",
	"kernel-launches": "kernels",
	memory: "memory",
	"memory-curve": "memory",
	"memory-live": "memory",
	"memory-peaks": "memory",
	modules: "modules",
	collectives: "distributed",
	workers: "distributed",
	"collective-statistics": "distributed",
	mismatches: "distributed",
	trace: "trace"
}, gm = 5e5;
function _m(e, t, n) {
	let r = (t, r) => _t(e, t, n, r), i = (i, a, o, s = a) => t === i ? gt({
		at: "run",
		run: e,
		page: t,
		query: vt(n, {
			open: a,
			dims: o
		})
	}) : r(i, {
		[`find.${i}`]: s,
		open: a,
		dims: o
	});
	return {
		hrefOfCell(t, a, o) {
			switch (t) {
				case "operator": return i("operators", a, Cm(o, "input_dims"));
				case "kernel": return i("kernels", Sm(a, o), "", a);
				case "module": return r("modules", { "find.modules": a });
				case "worker": return _t(e, "overview", {
					...n,
					worker: a
				});
				case "moment": return r("trace", ym(Number(a), Number(a) + wm(o)));
				default: return null;
			}
		},
		hrefOfLink: (e) => bm(e, r)
	};
}
function vm(e) {
	let t = (t, n) => _t(e, t, {}, n);
	return {
		hrefOfCell: () => null,
		hrefOfLink: (e) => bm(e, t)
	};
}
function ym(e, t, n) {
	let r = t - e, i = r > 0 ? r * .5 : gm, a = (e) => String(Math.max(0, Math.round(e)));
	return {
		from: a(e - i),
		to: a(t + i),
		...n === void 0 ? {} : { select: String(n) },
		...n === void 0 && r > 0 ? { range: `${a(e)}-${a(t)}` } : {}
	};
}
function bm(e, t) {
	return e.from_ns === null ? t(xm(e.section), e.search ? { [`find.${e.section}`]: e.search } : {}) : t("trace", ym(e.from_ns, e.to_ns ?? e.from_ns));
}
function xm(e) {
	return hm[e] ?? "overview";
}
function Sm(e, t) {
	return t.short_name === e && Cm(t, "name") || e;
}
function Cm(e, t) {
	let n = e[t];
	return typeof n == "string" ? n : "";
}
function wm(e) {
	let t = e.dur_ns ?? e.gap_ns ?? e.length_ns ?? e.total_ns;
	return typeof t == "number" ? t : 0;
}
// src/app/routing/documentState.ts
var Tm = "*", Em = /^(sort|find|cols|node)\.(.+)$/;
function Dm(e) {
	let t = {}, n = {};
	for (let [r, i] of Object.entries(e)) {
		let [, e, a] = Em.exec(r) ?? [];
		a && (e === "sort" && (t[a] = {
			...t[a],
			sort: jm(i)
		}), e === "cols" && (t[a] = {
			...t[a],
			columns: i.split(",")
		}), e === "node" && (n[a] = {
			...n[a],
			node: Number(i) || 0
		}), e === "find" && (t[a] = {
			...t[a],
			search: i
		}, n[a] = {
			...n[a],
			search: i
		}));
	}
	return {
		tables: t,
		icicles: n
	};
}
function Om(e, t) {
	let n = {};
	for (let [r, i] of Am(e.tables, t.tables)) n[`sort.${r}`] = Mm(i.sort), n[`cols.${r}`] = i.columns?.join(",") ?? "", n[`find.${r}`] = i.search ?? "";
	for (let [r, i] of Am(e.icicles, t.icicles)) n[`node.${r}`] = i.node === void 0 ? "" : String(i.node), n[`find.${r}`] = i.search ?? "";
	return n;
}
function km(e, t) {
	return Object.entries(t).every(([t, n]) => t.startsWith("find.") || n === (e[t] ?? ""));
}
function Am(e = {}, t = {}) {
	return Object.entries(t).filter(([t, n]) => n !== e[t]);
}
function jm(e) {
	return e === Tm ? null : {
		key: e.replace(/^-/, ""),
		descending: e.startsWith("-")
	};
}
function Mm(e) {
	return e === void 0 ? "" : e === null ? Tm : `${e.descending ? "-" : ""}${e.key}`;
}
// src/app/routing/useDocumentState.ts
function Nm() {
	let { route: e } = rt();
	return Ae(() => {
		let t = Dm(e.query);
		return [t, (n) => {
			let r = Om(t, n), i = km(e.query, r) ? "replace" : "push";
			Dt({
				...e,
				query: vt(e.query, r)
			}, i);
		}];
	}, [gt(e)]);
}
// src/app/pages/NotFound.tsx
function Pm({ path: e }) {
	return /* @__PURE__ */ H("div", {
		class: "message",
		children: [
			/* @__PURE__ */ H("h1", { children: ["There is no page ", e] }),
			/* @__PURE__ */ H("p", { children: "The address may be cut short or of another version of timesink." }),
			/* @__PURE__ */ H("p", { children: /* @__PURE__ */ H("a", {
				class: "button primary",
				href: "#/",
				children: "All runs"
			}) })
		]
	});
}
function Fm({ name: e }) {
	let { listing: t } = rt(), n = t && zt(t.runs, e);
	return /* @__PURE__ */ H("div", {
		class: "message",
		children: [
			/* @__PURE__ */ H("h1", { children: ["There is no run ", e] }),
			/* @__PURE__ */ H("p", { children: [
				"It is not below ",
				t?.logdir ?? "the served folder",
				": it may have been moved, or be still to come. It is shown as soon as it is there."
			] }),
			/* @__PURE__ */ H("p", {
				class: "next",
				children: [/* @__PURE__ */ H("a", {
					class: "button primary",
					href: "#/",
					children: "All runs"
				}), n && /* @__PURE__ */ H("a", {
					class: "button",
					href: _t(n, "overview"),
					children: n
				})]
			})
		]
	});
}
// src/app/pages/Compare.tsx
function Im() {
	let { route: e, listing: t } = rt(), { base: n = "", new: r = "" } = e.query;
	if (!t) return null;
	let { runs: i } = t, a = [n, r].find((e) => e && !i.some((t) => t.name === e));
	return a ? /* @__PURE__ */ H(Fm, { name: a }) : !n || !r ? /* @__PURE__ */ H(Rm, {
		chosen: n || r,
		runs: i,
		isBase: !!n
	}) : /* @__PURE__ */ H(Lm, {
		base: n,
		second: r,
		runs: i
	}, `${n}\n${r}`);
}
function Lm({ base: e, second: t, runs: n }) {
	let { route: r } = rt(), { marker: i } = r.query, a = [e, t].map((e) => Nt(n.find((t) => t.name === e))).join(" "), [o, s] = z(a), c = pm({
		path: "compare",
		params: {
			base: e,
			new: t,
			marker: i
		},
		version: o
	}), [l, u] = Nm(), d = Ae(() => vm(t), [t]);
	return /* @__PURE__ */ H("div", {
		class: "comparison",
		children: [o !== a && /* @__PURE__ */ H(mm, { onShow: () => s(a) }), /* @__PURE__ */ H(G, {
			loaded: c,
			what: "the comparison",
			children: (e) => /* @__PURE__ */ H(fm, {
				document: e,
				links: d,
				state: l,
				onState: u,
				nav: !1
			})
		})]
	});
}
function Rm({ chosen: e, isBase: t, runs: n }) {
	let r = e ? Rt(n, e, t ? "new" : "base") : void 0, i = t ? {
		base: e,
		new: r ?? ""
	} : {
		base: r ?? "",
		new: e
	};
	return /* @__PURE__ */ H("div", {
		class: "message",
		children: [
			/* @__PURE__ */ H("h1", { children: "Compare two runs" }),
			e ? /* @__PURE__ */ H("p", { children: [
				e,
				" is chosen as the ",
				t ? "base" : "new run",
				". Choose the",
				" ",
				t ? "new run" : "base",
				" above: what changed from base to new is explained here."
			] }) : /* @__PURE__ */ H("p", { children: "Choose a base and a new run above: what changed between them is explained here." }),
			r && /* @__PURE__ */ H("p", { children: /* @__PURE__ */ H("a", {
				class: "button primary",
				href: gt({
					at: "compare",
					query: i
				}),
				children: [
					"Compare ",
					i.base,
					" with ",
					i.new
				]
			}) }),
			n.length === 1 && /* @__PURE__ */ H("p", { children: "There is one run only; record another and it appears here." })
		]
	});
}
// src/app/runs/ago.ts
var zm = [
	[86400, "d"],
	[3600, "h"],
	[60, "min"]
], Bm = 604800;
function Vm(e, t) {
	let n = t - e;
	if (n >= Bm) return (/* @__PURE__ */ new Date(e * 1e3)).toISOString().slice(0, 10);
	for (let [e, t] of zm) if (n >= e) return `${Math.floor(n / e)} ${t} ago`;
	return "just now";
}
// src/app/pages/RunTable.tsx
function Hm({ runs: e, order: t, query: n, onChange: r }) {
	let i = Gm(1e4), a = (e, n, i = !0) => /* @__PURE__ */ H("th", {
		scope: "col",
		class: i ? "numeric" : "",
		"aria-sort": Wm(e, t),
		children: /* @__PURE__ */ H("button", {
			type: "button",
			onClick: () => r({ sort: e === "changed_s" ? "" : e }),
			children: [n, e === t && /* @__PURE__ */ H(U, {
				name: e === "name" ? "up" : "down",
				size: 12
			})]
		})
	});
	return /* @__PURE__ */ H("table", {
		class: "runs",
		children: [/* @__PURE__ */ H("thead", { children: /* @__PURE__ */ H("tr", { children: [
			/* @__PURE__ */ H("th", {
				scope: "col",
				class: "mark-column",
				children: "Compare"
			}),
			a("name", "Run", !1),
			/* @__PURE__ */ H("th", {
				scope: "col",
				class: "holds-column",
				children: "Holds"
			}),
			/* @__PURE__ */ H("th", {
				scope: "col",
				class: "numeric",
				children: "Workers"
			}),
			/* @__PURE__ */ H("th", {
				scope: "col",
				class: "numeric",
				children: "Spans"
			}),
			a("bytes", "Size"),
			a("changed_s", "Changed")
		] }) }), /* @__PURE__ */ H("tbody", { children: e.map((e) => /* @__PURE__ */ H(Um, {
			run: e,
			now: i,
			query: n,
			onChange: r
		}, e.name)) })]
	});
}
function Um({ run: e, now: t, query: n, onChange: r }) {
	let i = e.name === n.base ? "base" : e.name === n.new ? "new" : "", a = Math.max(0, ...e.workers.map((e) => e.spans.length));
	return /* @__PURE__ */ H("tr", {
		class: i ? "marked" : "",
		children: [
			/* @__PURE__ */ H("td", {
				class: "mark-column",
				children: /* @__PURE__ */ H("label", { children: [/* @__PURE__ */ H("input", {
					type: "checkbox",
					checked: i !== "",
					"aria-label": `Compare ${e.name}`,
					onChange: () => r(It(n, e.name))
				}), i && /* @__PURE__ */ H("span", {
					class: "tag",
					children: i
				})] })
			}),
			/* @__PURE__ */ H("th", {
				scope: "row",
				children: [/* @__PURE__ */ H("a", {
					href: _t(e.name, e.timeline || !e.counters.length ? "overview" : "kernels"),
					children: e.name
				}), e.growing && /* @__PURE__ */ H("span", {
					class: "tag recording",
					children: "recording"
				})]
			}),
			/* @__PURE__ */ H("td", {
				class: "holds-column",
				children: [
					e.timeline && /* @__PURE__ */ H("span", {
						class: "tag",
						children: "timeline"
					}),
					e.behaviour && /* @__PURE__ */ H("span", {
						class: "tag",
						children: "cycles"
					}),
					e.counters.length > 0 && /* @__PURE__ */ H("span", {
						class: "tag",
						title: e.counters.join(", "),
						children: "kernel counters"
					})
				]
			}),
			/* @__PURE__ */ H("td", {
				class: "numeric",
				"data-label": e.workers.length === 1 ? "worker" : "workers",
				children: e.workers.length || "-"
			}),
			/* @__PURE__ */ H("td", {
				class: "numeric",
				"data-label": a === 1 ? "span" : "spans",
				children: a || "-"
			}),
			/* @__PURE__ */ H("td", {
				class: "numeric",
				children: J("bytes", e.bytes)
			}),
			/* @__PURE__ */ H("td", {
				class: "numeric",
				children: /* @__PURE__ */ H("time", {
					title: (/* @__PURE__ */ new Date(e.changed_s * 1e3)).toLocaleString("en"),
					children: Vm(e.changed_s, t)
				})
			})
		]
	});
}
function Wm(e, t) {
	return e === t ? e === "name" ? "ascending" : "descending" : "none";
}
function Gm(e) {
	let [t, n] = z(() => Date.now() / 1e3);
	return B(() => {
		let t = setInterval(() => n(Date.now() / 1e3), e);
		return () => clearInterval(t);
	}, [e]), t;
}
// src/app/pages/Home.tsx
var Km = [
	"name",
	"bytes",
	"changed_s"
];
function qm() {
	let { listing: e, route: t } = rt();
	return e ? e.runs.length ? /* @__PURE__ */ H(Jm, {
		listing: e,
		query: t.query
	}) : /* @__PURE__ */ H(Xm, { listing: e }) : null;
}
function Jm({ listing: e, query: t }) {
	let { q: n = "", base: r = "", new: i = "" } = t, a = Km.find((e) => e === t.sort) ?? "changed_s", o = Ft(Pt(e.runs, n), a), s = (e, n = "push") => Dt({
		at: "home",
		query: vt(t, e)
	}, n);
	return /* @__PURE__ */ H("div", {
		class: "home",
		children: [
			/* @__PURE__ */ H("header", {
				class: "home-head",
				children: [
					/* @__PURE__ */ H("h1", { children: "Runs" }),
					/* @__PURE__ */ H("p", {
						class: "quiet",
						children: n ? `${o.length} of ${e.runs.length}` : e.runs.length
					}),
					/* @__PURE__ */ H("label", {
						class: "search",
						children: [
							/* @__PURE__ */ H("span", {
								class: "visually-hidden",
								children: "Filter runs"
							}),
							/* @__PURE__ */ H(U, { name: "search" }),
							/* @__PURE__ */ H("input", {
								class: "input",
								type: "search",
								placeholder: "Filter by name",
								value: n,
								onInput: ({ currentTarget: e }) => s({ q: e.value }, "replace")
							})
						]
					})
				]
			}),
			r && /* @__PURE__ */ H(Ym, {
				base: r,
				second: i,
				onClear: () => s({
					base: "",
					new: ""
				})
			}),
			o.length ? /* @__PURE__ */ H(Hm, {
				runs: o,
				order: a,
				query: t,
				onChange: s
			}) : /* @__PURE__ */ H("p", {
				class: "message",
				children: [
					"No run has “",
					n,
					"” in its name.",
					" ",
					/* @__PURE__ */ H("button", {
						type: "button",
						class: "button",
						onClick: () => s({ q: "" }),
						children: "Show all"
					})
				]
			})
		]
	});
}
function Ym({ base: e, second: t, onClear: n }) {
	return /* @__PURE__ */ H("div", {
		class: "notice-bar pair-bar",
		role: "status",
		children: [t ? /* @__PURE__ */ H(b, { children: [
			/* @__PURE__ */ H("span", { children: [
				"Base ",
				/* @__PURE__ */ H("b", { children: e }),
				", new ",
				/* @__PURE__ */ H("b", { children: t })
			] }),
			/* @__PURE__ */ H("a", {
				class: "button primary",
				href: gt({
					at: "compare",
					query: {
						base: e,
						new: t
					}
				}),
				children: "Compare"
			}),
			/* @__PURE__ */ H("a", {
				class: "button",
				href: gt({
					at: "home",
					query: {
						base: t,
						new: e
					}
				}),
				"aria-label": "Swap base and new",
				children: "Swap"
			})
		] }) : /* @__PURE__ */ H("span", { children: [
			"Base ",
			/* @__PURE__ */ H("b", { children: e }),
			": mark the run to compare it with."
		] }), /* @__PURE__ */ H("button", {
			type: "button",
			class: "button",
			onClick: n,
			children: "Clear"
		})]
	});
}
function Xm({ listing: e }) {
	let t = e.logdir.replace(/\/$/, "");
	return /* @__PURE__ */ H("div", {
		class: "message",
		children: [
			/* @__PURE__ */ H("h1", { children: "No runs yet" }),
			/* @__PURE__ */ H("p", { children: [t, " holds no recording. They appear here by themselves; to make one:"] }),
			/* @__PURE__ */ H("pre", { children: /* @__PURE__ */ H("code", { children: [
				"timesink record -o ",
				t,
				"/base -- python train.py"
			] }) }),
			/* @__PURE__ */ H("p", {
				class: "quiet",
				children: "Traces of torch.profiler (*.pt.trace.json), Nsight Systems (*.sqlite) and rocprofv3 work as well: put them into a folder below it."
			})
		]
	});
}
// src/app/layout/Sections.tsx
function Zm({ title: e, document: t, links: n, children: r }) {
	let [i, a] = Nm(), o = Ae(() => ({
		state: i,
		onState: a
	}), [i, a]);
	return /* @__PURE__ */ H(dn.Provider, {
		value: n,
		children: /* @__PURE__ */ H(Ic.Provider, {
			value: o,
			children: /* @__PURE__ */ H("article", {
				class: "document",
				children: [/* @__PURE__ */ H("header", {
					class: "page-head",
					children: [
						/* @__PURE__ */ H("h1", {
							class: "visually-hidden",
							children: e
						}),
						/* @__PURE__ */ H("p", {
							class: "quiet",
							children: t.subject
						}),
						r
					]
				}), /* @__PURE__ */ H("div", {
					class: "sections",
					children: t.sections.map((e) => /* @__PURE__ */ H(cm, { section: e }, e.id))
				})]
			})
		})
	});
}
// src/app/pages/ofRun.ts
function Qm(e, t, n) {
	let { run: r, worker: i, span: a, version: o } = e, s = {
		run: r.name,
		worker: i,
		span: a,
		...n
	};
	return pm(n === null ? null : {
		path: t,
		params: s,
		version: o
	});
}
function $m({ route: e }) {
	return Ae(() => _m(e.run, e.page, e.query), [gt(e)]);
}
// src/app/pages/DocumentPage.tsx
function eh({ of: e, children: t }) {
	let { page: n, run: r } = e.route, i = Qm(e, "document", { page: n }), a = $m(e);
	return /* @__PURE__ */ H(G, {
		loaded: i,
		what: "the analysis",
		children: (e) => /* @__PURE__ */ H(Zm, {
			title: `${kt(n)} of ${r}`,
			document: e,
			links: a,
			children: t
		})
	});
}
// src/app/layout/Switch.tsx
function th({ label: e, options: t, chosen: n, onChoose: r }) {
	let i = Ne();
	return /* @__PURE__ */ H("fieldset", {
		class: "switch",
		children: [/* @__PURE__ */ H("legend", { children: e }), t.map(([e, t]) => /* @__PURE__ */ H("label", { children: [/* @__PURE__ */ H("input", {
			type: "radio",
			name: i,
			checked: n === e,
			onChange: () => r(e)
		}), /* @__PURE__ */ H("span", { children: t })] }, e))]
	});
}
// src/app/pages/Details.tsx
function nh({ of: e, kind: t, name: n, children: r }) {
	let { route: i } = e, a = {
		...i,
		query: vt(i.query, {
			open: "",
			dims: ""
		})
	}, o = V(null);
	return B(() => {
		let e = document.activeElement;
		return o.current?.focus({ preventScroll: !0 }), () => {
			e instanceof HTMLElement && e.isConnected && e.focus({ preventScroll: !0 });
		};
	}, [n]), B(() => {
		let e = (e) => {
			e.key === "Escape" && !e.defaultPrevented && Dt(a);
		};
		return document.addEventListener("keydown", e), () => document.removeEventListener("keydown", e);
	}), /* @__PURE__ */ H("aside", {
		class: "row-details",
		"aria-label": `${t} ${n}`,
		children: [/* @__PURE__ */ H("header", { children: [
			/* @__PURE__ */ H("p", {
				class: "details-kind",
				children: t
			}),
			/* @__PURE__ */ H("button", {
				type: "button",
				class: "icon-button",
				"aria-label": "Close details",
				title: "Close (Esc)",
				onClick: () => Dt(a),
				children: /* @__PURE__ */ H(U, { name: "close" })
			}),
			/* @__PURE__ */ H("h2", {
				ref: o,
				tabIndex: -1,
				children: n
			})
		] }), r]
	});
}
function rh({ of: e, name: t }) {
	let { value: n } = Qm(e, "timeline/search", e.run.timeline ? { q: t } : null);
	if (!e.run.timeline) return null;
	let r = n && ah(n, t), i = r ? {
		q: t,
		...ym(r.from_ns, r.from_ns + r.dur_ns, r.id)
	} : { q: t };
	return /* @__PURE__ */ H("a", {
		class: "button",
		href: _t(e.run.name, "trace", e.route.query, i),
		children: [/* @__PURE__ */ H(U, { name: "search" }), r ? ih(n, r) : "Find in the trace"]
	});
}
function ih(e, { dur_ns: t }) {
	return `${e.total > e.hits.length ? `Longest of the first ${e.hits.length}` : "Longest"} in the trace, ${J("time_ns", t)}`;
}
function ah({ hits: e }, t) {
	let n = e.filter((e) => e.name === t), r = e.filter((e) => t.startsWith(e.name));
	return (n.length ? n : r).toSorted((e, t) => t.dur_ns - e.dur_ns)[0];
}
// src/app/pages/totals.ts
function oh(e, t) {
	let n = /* @__PURE__ */ new Map();
	for (let r = 0; r < e.rows; r += 1) {
		let i = Object.fromEntries(e.columns.map((e) => [e.key, sh(e, r)])), a = String(i[t] ?? ""), o = n.get(a) ?? {
			name: a,
			calls: 0,
			total_ns: 0,
			row: i
		};
		o.calls += Number(i.calls ?? 0), o.total_ns += Number(i.total_ns ?? 0), n.set(a, o);
	}
	return [...n.values()].sort((e, t) => t.total_ns - e.total_ns);
}
function sh({ data: e }, t) {
	return "values" in e ? e.values[t] ?? null : e.texts[e.codes[t] ?? -1] ?? null;
}
// src/app/pages/TotalList.tsx
function ch({ table: e, by: t, link: n, unnamed: r }) {
	let i = oh(e, t), a = i.reduce((e, { total_ns: t }) => e + t, 0);
	return /* @__PURE__ */ H("ol", {
		class: "totals",
		children: i.map((e) => /* @__PURE__ */ H(lh, {
			total: e,
			all: a,
			link: n,
			unnamed: r
		}, e.name))
	});
}
function lh({ total: e, all: t, link: n, unnamed: r }) {
	let { hrefOfCell: i } = Me(dn), { name: a, calls: o, total_ns: s, row: c } = e, l = a ? i(n, a, c) : null, u = t ? s / t : 0;
	return /* @__PURE__ */ H("li", { children: [/* @__PURE__ */ H("p", {
		class: "total-name",
		children: l ? /* @__PURE__ */ H("a", {
			href: l,
			children: a
		}) : a || r
	}), /* @__PURE__ */ H("p", {
		class: "total-figures",
		children: [
			/* @__PURE__ */ H("span", {
				class: "total-bar",
				"aria-hidden": "true",
				children: /* @__PURE__ */ H("span", {
					class: "total-part",
					style: { width: `${u * 100}%` }
				})
			}),
			/* @__PURE__ */ H("b", { children: J("time_ns", s) }),
			/* @__PURE__ */ H("span", { children: J("share", u) }),
			/* @__PURE__ */ H("span", { children: o === 1 ? "1 call" : `${J("count", o)} calls` })
		]
	})] });
}
// src/app/pages/KernelDetails.tsx
function uh({ of: e, name: t }) {
	let n = Qm(e, "table", {
		view: "kernel-launches",
		column: "name",
		equals: t
	});
	return /* @__PURE__ */ H(nh, {
		of: e,
		kind: "Kernel",
		name: t,
		children: [/* @__PURE__ */ H("p", {
			class: "details-links",
			children: /* @__PURE__ */ H(rh, {
				of: e,
				name: t
			})
		}), /* @__PURE__ */ H(dn.Provider, {
			value: $m(e),
			children: [/* @__PURE__ */ H("h3", { children: "Launched by" }), /* @__PURE__ */ H(G, {
				loaded: n,
				what: "its launches",
				children: (e) => /* @__PURE__ */ H(ch, {
					table: e,
					by: "operator",
					link: "operator",
					unnamed: "a launch that was not recorded"
				})
			})]
		})]
	});
}
// src/app/pages/Kernels.tsx
var dh = [["timeline", "Timeline"], ["utilisation", "Utilisation"]];
function fh({ of: e }) {
	let { run: t, route: n } = e, { open: r = "" } = n.query, i = t.counters.length > 0 && (!t.timeline || n.query.show === "utilisation"), a = t.timeline && t.counters.length > 0 && /* @__PURE__ */ H(th, {
		label: "Show",
		options: dh,
		chosen: i ? "utilisation" : "timeline",
		onChoose: (e) => {
			let t = {
				show: e === "utilisation" ? e : "",
				open: ""
			};
			Dt({
				...n,
				query: vt(n.query, t)
			});
		}
	});
	return i ? /* @__PURE__ */ H(b, { children: [a && /* @__PURE__ */ H("div", {
		class: "page-head",
		children: a
	}), /* @__PURE__ */ H(ph, { of: e })] }) : /* @__PURE__ */ H("div", {
		class: r ? "with-details" : "",
		children: [/* @__PURE__ */ H(eh, {
			of: e,
			children: a
		}), r && /* @__PURE__ */ H(uh, {
			of: e,
			name: r
		})]
	});
}
function ph({ of: e }) {
	let { run: t, version: n } = e, r = pm({
		path: "utilisation",
		params: { run: t.name },
		version: n
	}), i = $m(e), [a, o] = Nm();
	return /* @__PURE__ */ H(G, {
		loaded: r,
		what: "the counters",
		children: (e) => /* @__PURE__ */ H(fm, {
			document: e,
			links: i,
			state: a,
			onState: o,
			nav: !1
		})
	});
}
// src/app/pages/frames.ts
var mh = /^(.*)\((\d+)\): (.*)$/;
function hh(e) {
	return String(e ?? "").split(/[;\n]/).map((e) => e.trim()).filter(Boolean).map(gh);
}
function gh(e) {
	let [, t, n, r] = mh.exec(e) ?? [];
	return !t || !r ? {
		name: e,
		place: "",
		whole: e
	} : {
		name: r,
		place: `${t.split("/").slice(-2).join("/")}:${n}`,
		whole: e
	};
}
// src/app/pages/CallStacks.tsx
var _h = 6, vh = /* @__PURE__ */ new Set(["count", "time_ns"]);
function yh({ table: e }) {
	let t = e.columns.find(({ key: e }) => e === "call_stack"), n = t ? bh(e) : [];
	if (!t || n.every((e) => !sh(t, e))) return /* @__PURE__ */ H("p", {
		class: "quiet",
		children: e.note || "None were recorded. With torch.profiler, with_stack=True records them."
	});
	let r = e.columns.filter(({ main: e, kind: t }) => e && vh.has(t));
	return /* @__PURE__ */ H(b, { children: [/* @__PURE__ */ H("ol", {
		class: "call-stacks",
		children: n.map((e) => /* @__PURE__ */ H("li", { children: [/* @__PURE__ */ H("p", {
			class: "call-figures",
			children: r.map((t) => /* @__PURE__ */ H("span", {
				title: t.help,
				children: [
					t.title,
					" ",
					/* @__PURE__ */ H("b", { children: J(t.kind, sh(t, e)) })
				]
			}, t.key))
		}), /* @__PURE__ */ H(xh, { frames: hh(sh(t, e)) })] }, e))
	}), e.total_rows > e.rows && /* @__PURE__ */ H("p", {
		class: "quiet",
		children: [e.total_rows - e.rows, " more stacks take less time."]
	})] });
}
function bh(e) {
	let [t, n] = ["device_total_ns", "host_total_ns"].map((t) => e.columns.find(({ key: e }) => e === t)), r = (e, t) => Number(e ? sh(e, t) : 0);
	return Array.from({ length: e.rows }, (e, t) => t).sort((e, i) => r(t, i) - r(t, e) || r(n, i) - r(n, e));
}
function xh({ frames: e }) {
	let t = e.slice(_h);
	return e.length ? /* @__PURE__ */ H(b, { children: [/* @__PURE__ */ H(Sh, { frames: e.slice(0, _h) }), t.length > 0 && /* @__PURE__ */ H("details", { children: [/* @__PURE__ */ H("summary", { children: [t.length === 1 ? "one more call" : `${t.length} more calls`, " around it"] }), /* @__PURE__ */ H(Sh, { frames: t })] })] }) : /* @__PURE__ */ H("p", {
		class: "quiet",
		children: "No stack was recorded for these calls."
	});
}
function Sh({ frames: e }) {
	return /* @__PURE__ */ H("ol", {
		class: "frames",
		children: e.map(({ name: e, place: t, whole: n }, r) => /* @__PURE__ */ H("li", {
			title: n,
			children: [
				e,
				" ",
				/* @__PURE__ */ H("span", {
					class: "quiet",
					children: t
				})
			]
		}, `${r} ${n}`))
	});
}
// src/app/pages/OperatorDetails.tsx
function Ch({ of: e, name: t, dims: n }) {
	let r = Qm(e, "table", {
		view: "kernel-launches",
		column: "operator",
		equals: t
	}), i = Qm(e, "stacks", {
		operator: t,
		dims: n
	}), a = $m(e), o = _t(e.run.name, "kernels", e.route.query, { "find.kernel-launches": t });
	return /* @__PURE__ */ H(nh, {
		of: e,
		kind: "Operator",
		name: t,
		children: [
			n && /* @__PURE__ */ H("p", {
				class: "quiet mono",
				children: n
			}),
			/* @__PURE__ */ H("p", {
				class: "details-links",
				children: [/* @__PURE__ */ H(rh, {
					of: e,
					name: t
				}), /* @__PURE__ */ H("a", {
					class: "button",
					href: o,
					children: [/* @__PURE__ */ H(U, { name: "link" }), "On the kernels page"]
				})]
			}),
			/* @__PURE__ */ H(dn.Provider, {
				value: a,
				children: [
					/* @__PURE__ */ H("h3", { children: "Kernels it launches" }),
					/* @__PURE__ */ H(G, {
						loaded: r,
						what: "its kernels",
						children: (e) => e.rows ? /* @__PURE__ */ H(ch, {
							table: e,
							by: "short_name",
							link: "kernel",
							unnamed: "unnamed"
						}) : /* @__PURE__ */ H("p", {
							class: "quiet",
							children: "None itself: what it calls may launch some."
						})
					}),
					/* @__PURE__ */ H("h3", { children: "Call stacks" }),
					/* @__PURE__ */ H(G, {
						loaded: i,
						what: "its call stacks",
						children: (e) => /* @__PURE__ */ H(yh, { table: e })
					})
				]
			})
		]
	});
}
// src/app/pages/Operators.tsx
var wh = [
	["name", "Name"],
	["shape", "Shapes"],
	["stack", "Call stack"]
];
function Th({ of: e }) {
	let { route: t } = e, { open: n = "", dims: r = "" } = t.query, i = wh.map(([e]) => e).find((e) => e === t.query.group) ?? "name", a = Qm(e, "document", { page: "operators" }), o = i === "name" ? null : {
		view: "operators",
		group_by: i
	}, s = Qm(e, "table", o), c = $m(e), l = (e) => {
		let n = {
			group: e === "name" ? "" : e,
			open: "",
			dims: ""
		};
		Dt({
			...t,
			query: vt(t.query, n)
		});
	};
	return /* @__PURE__ */ H("div", {
		class: n ? "with-details" : "",
		children: [/* @__PURE__ */ H("div", { children: /* @__PURE__ */ H(G, {
			loaded: a,
			what: "the operators",
			children: (e) => /* @__PURE__ */ H(Zm, {
				title: `Operators of ${t.run}`,
				document: o ? Dh(e, s.value) : e,
				links: c,
				children: [/* @__PURE__ */ H(th, {
					label: "Group by",
					options: wh,
					chosen: i,
					onChoose: l
				}), o && /* @__PURE__ */ H(Eh, { loaded: s })]
			})
		}) }), n && /* @__PURE__ */ H(Ch, {
			of: e,
			name: n,
			dims: r
		})]
	});
}
function Eh({ loaded: e }) {
	return e.error ? /* @__PURE__ */ H(on, {
		error: e.error,
		onRetry: e.retry
	}) : e.loading ? /* @__PURE__ */ H(an, {
		progress: e.progress,
		what: "the operators"
	}) : null;
}
function Dh(e, t) {
	let n = (e) => e.type === "table" && e.id === "operators", r = e.sections.map((e) => ({
		...e,
		blocks: e.blocks.flatMap((e) => n(e) ? t ? [t] : [] : [e])
	}));
	return {
		...e,
		sections: r
	};
}
// src/app/pages/Overview.tsx
function Oh({ of: e }) {
	let t = Qm(e, "document", { page: "overview" }), n = $m(e), [r, i] = Nm();
	return /* @__PURE__ */ H(G, {
		loaded: t,
		what: "the analysis",
		children: (e) => /* @__PURE__ */ H(fm, {
			document: e,
			links: n,
			state: r,
			onState: i,
			nav: !1
		})
	});
}
var kh = 6;
function Ah(e) {
	return `#${e}`;
}
function jh(e) {
	return e.kind === "counter" || e.kind === "memory";
}
function Mh(e, t) {
	let n = /* @__PURE__ */ new Map();
	for (let t of e) {
		let e = n.get(t.group);
		e ? e.push(t) : n.set(t.group, [t]);
	}
	let r = [], i = /* @__PURE__ */ new Map(), a = 0;
	for (let [e, o] of n) {
		let n = !t.has(e);
		if (r.push({
			type: "group",
			name: e,
			y: a,
			height: 26,
			open: n,
			tracks: o.length
		}), a += 26, n) for (let e of o) {
			let n = Nh(e, a, !t.has(Ah(e.id)));
			r.push(n), i.set(e.id, n), a += n.height;
		}
	}
	return {
		items: r,
		height: a,
		byTrack: i
	};
}
function Nh(e, t, n) {
	let r = n ? Math.max(1, e.rows) : 1;
	return {
		type: "track",
		track: e,
		y: t,
		height: jh(e) ? (n ? 44 : 18) + kh : r * 18 + kh,
		open: n,
		rows: r
	};
}
function Ph(e, t, n) {
	let r = [];
	for (let i = Rh(e.items, t); i < e.items.length; i++) {
		let t = e.items[i];
		if (t.y >= n) break;
		r.push(t);
	}
	return r;
}
function Fh(e, t) {
	let n = e.items[Rh(e.items, t)];
	return n && t >= n.y ? n : null;
}
function Ih(e, t) {
	let n = Math.floor((t - e.y) / 18);
	return n >= 0 && n < e.rows ? n : null;
}
function Lh(e, t) {
	return e.y + Math.min(t, e.rows - 1) * 18;
}
function Rh(e, t) {
	let n = 0, r = e.length;
	for (; n < r;) {
		let i = n + r >> 1, a = e[i];
		a.y + a.height <= t ? n = i + 1 : r = i;
	}
	return n;
}
// src/trace/Names.tsx
function zh({ layout: e, onToggle: t }) {
	return /* @__PURE__ */ H("div", {
		class: "trace-names",
		children: e.items.map((e) => /* @__PURE__ */ H(Vh, {
			item: e,
			onToggle: () => t(Bh(e))
		}, Bh(e)))
	});
}
function Bh(e) {
	return e.type === "group" ? e.name : Ah(e.track.id);
}
function Vh({ item: e, onToggle: t }) {
	let n = {
		top: `${e.y}px`,
		height: `${e.height}px`
	};
	if (e.type === "group") return /* @__PURE__ */ H("button", {
		type: "button",
		class: "trace-name group",
		style: n,
		"aria-expanded": e.open,
		title: `${e.name}: ${e.tracks} tracks`,
		onClick: t,
		children: [/* @__PURE__ */ H("span", {
			class: "turn",
			"aria-hidden": "true"
		}), /* @__PURE__ */ H("span", {
			class: "text",
			children: e.name
		})]
	});
	let { track: r } = e;
	return e.rows === 1 && e.open && r.rows <= 1 ? /* @__PURE__ */ H("div", {
		class: "trace-name",
		style: n,
		title: Hh(r),
		children: /* @__PURE__ */ H("span", {
			class: "text",
			children: r.name
		})
	}) : /* @__PURE__ */ H("button", {
		type: "button",
		class: "trace-name",
		style: n,
		"aria-expanded": e.open,
		title: Hh(r),
		onClick: t,
		children: [/* @__PURE__ */ H("span", {
			class: "turn",
			"aria-hidden": "true"
		}), /* @__PURE__ */ H("span", {
			class: "text",
			children: r.name
		})]
	});
}
function Hh({ name: e, group: t, events: n, rows: r, unit: i, kind: a, lowest: o, highest: s }) {
	let c = `${e}, ${t}`;
	if (a === "counter" || a === "memory") {
		let [e, t] = [o, s].map((e) => Uh(e, i));
		return `${c}: ${e} to ${t}`;
	}
	return `${c}: ${J("count", n)} slices${r > 1 ? ` in ${r} rows` : ""}`;
}
function Uh(e, t) {
	if (t === "B" || t === "bytes") return J("bytes", e);
	let n = J("number", Number(e.toPrecision(4)));
	return t ? `${n} ${t}` : n;
}
// src/trace/rows.ts
function Wh(e, t) {
	let n = /* @__PURE__ */ new Map(), { track: r, row: i } = e, a = 0;
	for (; a < r.length;) {
		let t = r[a], o = [a];
		for (; a < r.length && r[a] === t; a++) for (; o.length <= i[a];) o.push(a);
		o.push(a), n.set(t, {
			slices: e,
			begin: Uint32Array.from(o)
		});
	}
	let o = {
		slices: e,
		begin: /* @__PURE__ */ new Uint32Array(1)
	};
	for (let e of t) n.has(e) || n.set(e, o);
	return n;
}
function Gh(e) {
	return e.begin.length - 1;
}
function Kh(e, t, n) {
	let { start: r, dur: i } = e.slices, a = e.begin[t], o = e.begin[t + 1];
	for (; a < o;) {
		let e = a + o >> 1;
		r[e] + i[e] <= n ? a = e + 1 : o = e;
	}
	return a;
}
// src/trace/ticks.ts
var qh = [
	[1e9, "s"],
	[1e6, "ms"],
	[1e3, "us"],
	[1, "ns"]
];
function Jh(e, t, n, r = 110) {
	let i = Yh((t - e) / n * r), a = [];
	for (let n = Math.ceil(e / i); n * i <= t; n++) n >= 0 && a.push({
		time: n * i,
		label: Xh(n * i, i)
	});
	return {
		step: i,
		marks: a
	};
}
function Yh(e) {
	if (e <= 1) return 1;
	let t = 10 ** Math.floor(Math.log10(e));
	for (let n of [
		1,
		2,
		5
	]) if (n * t >= e * (1 - 1e-9)) return n * t;
	return 10 * t;
}
function Xh(e, t) {
	if (e === 0) return "0";
	let [n, r] = qh.find(([t]) => Math.abs(e) >= t) ?? [1, "ns"], i = Math.max(0, Math.ceil(-Math.log10(t / n) - 1e-9));
	return `${(e / n).toFixed(Math.min(i, 9))} ${r}`;
}
var Zh = .02;
function Qh(e, t) {
	return (t - e.from) / (e.to - e.from) * e.width;
}
function $h(e, t) {
	return e.from + t / e.width * (e.to - e.from);
}
function eg(e) {
	return (e.to - e.from) / e.width;
}
function tg(e, t) {
	return ng({
		from: 0,
		to: Math.max(e, 100),
		width: t
	}, e);
}
function ng(e, t) {
	let n = Math.max(t, 100), r = n * 1.04, i = Math.min(Math.max(e.to - e.from, 100), r), a = (e.from + e.to) / 2, o = Math.min(i, n) * Zh, s = -o, c = Math.max(n + o - i, s), l = Math.min(Math.max(a - i / 2, s), c);
	return {
		from: l,
		to: l + i,
		width: e.width
	};
}
function rg(e, t, n, r) {
	let i = $h(e, t), a = Math.max(r, 100) * 1.04, o = Math.min(Math.max((e.to - e.from) / n, 100), a), s = i - t / e.width * o;
	return ng({
		from: s,
		to: s + o,
		width: e.width
	}, r);
}
function ig(e, t, n) {
	let r = t * eg(e);
	return ng({
		from: e.from + r,
		to: e.to + r,
		width: e.width
	}, n);
}
function ag(e, t, n, r, i = .6) {
	let a = Math.max((n - t) / i, 100), o = (t + n) / 2;
	return ng({
		from: o - a / 2,
		to: o + a / 2,
		width: e.width
	}, r);
}
function og(e, t, n, r) {
	let i = (n - t) / eg(e);
	if (i < 2) return ag(e, t, n, r, .05);
	if (t >= e.from && n <= e.to) return e;
	if (i > e.width) return ag(e, t, n, r, .9);
	let a = (t + n) / 2, o = (e.to - e.from) / 2;
	return ng({
		from: a - o,
		to: a + o,
		width: e.width
	}, r);
}
function sg(e, t, n) {
	let r = e.to - e.from, i = t.to - t.from;
	if (n >= 1) return t;
	let a = r * (i / r) ** n, o = Math.abs(i - r) > 1e-9 * r ? (a - r) / (i - r) : n, s = e.from + (t.from - e.from) * o;
	return {
		from: s,
		to: s + a,
		width: t.width
	};
}
function cg(e, t, n, r, i, a) {
	e.fillStyle = a.raised, e.fillRect(0, 0, t.width, 40), r && (e.fillStyle = a.accent, e.globalAlpha = .25, e.fillRect(Qh(t, r[0]), 0, Qh(t, r[1]) - Qh(t, r[0]), 40), e.globalAlpha = 1), e.font = `11px ${a.font}`, e.textBaseline = "middle", lg(e, t, n, a);
	let { step: o, marks: s } = Jh(t.from, t.to, t.width);
	e.fillStyle = a.quiet;
	let c = o / 5;
	for (let n = Math.ceil(Math.max(0, t.from) / c); n * c <= t.to; n++) e.fillRect(Math.round(Qh(t, n * c)), 36, 1, 4);
	for (let { time: n, label: r } of s) {
		let i = Math.round(Qh(t, n));
		e.fillStyle = a.quiet, e.fillRect(i, 30, 1, 10), e.fillStyle = a.text, e.fillText(r, i + 4, 30);
	}
	i !== null && (e.fillStyle = a.accent, e.fillRect(Math.round(i), 0, 1, 40)), e.fillStyle = a.line, e.fillRect(0, 39, t.width, 1);
}
function lg(e, t, n, r) {
	for (let [i, { name: a, from_ns: o, to_ns: s }] of n.entries()) {
		let n = Math.max(0, Qh(t, o)), c = Math.min(t.width, Qh(t, s));
		if (c <= 0 || n >= t.width) continue;
		e.fillStyle = i % 2 ? r.sunken : r.line, e.fillRect(n, 1, Math.max(1, c - n - 1), 16);
		let l = /^\d+$/.test(a) ? `step ${a}` : a;
		e.fillStyle = r.text, e.measureText(l).width + 8 < c - n && e.fillText(l, n + 4, 10);
	}
}
function ug(e, t, n, r, i, a) {
	e.fillStyle = a.ground, e.fillRect(0, 0, t.width, 44);
	let o = Math.floor(38 / Math.max(1, r.length));
	for (let [n, i] of r.entries()) {
		let r = dg(i.pieces, t);
		e.fillStyle = i.colour;
		for (let t = 0; t < r.length; t++) {
			if (!r[t]) continue;
			let i = Math.max(1, (o - 1) * Math.min(1, r[t]));
			e.fillRect(t, 3 + (n + 1) * o - i, 1, i);
		}
	}
	if (i) {
		e.fillStyle = a.accent, e.globalAlpha = .3;
		let n = Qh(t, i[0]);
		e.fillRect(n, 0, Math.max(1, Qh(t, i[1]) - n), 44);
	}
	let s = Qh(t, n.from), c = Math.max(Qh(t, n.to), s + 3);
	e.fillStyle = a.sunken, e.globalAlpha = .7, e.fillRect(0, 0, s, 44), e.fillRect(c, 0, t.width - c, 44), e.globalAlpha = 1, e.strokeStyle = a.accent, e.lineWidth = 2, e.strokeRect(Math.max(1, s), 1, Math.min(c, t.width - 1) - Math.max(1, s), 42);
}
function dg(e, t) {
	let n = new Float32Array(Math.ceil(t.width));
	for (let { from: r, to: i, chunk: a } of e) {
		if (Gh(a.data) < 1) continue;
		let { start: e, dur: o, busy: s } = a.data.slices, c = a.data.begin[1];
		for (let l = Kh(a.data, 0, r); l < c && e[l] < i; l++) {
			let r = o[l] > 0 ? s[l] / o[l] : 0, i = Qh(t, e[l]);
			fg(n, i, Math.max(Qh(t, e[l] + o[l]), i), r);
		}
	}
	return n;
}
function fg(e, t, n, r) {
	for (let i = Math.max(0, Math.floor(t)); i < Math.min(e.length, n); i++) e[i] += r * (Math.min(n, i + 1) - Math.max(t, i));
}
// src/trace/pointer.ts
var pg = 4;
function mg(e, t, n) {
	let r = new AbortController(), i = { signal: r.signal };
	gg(e.main, t, n, i), vg(e.ruler, t, n, i), yg(e.overview, t, i);
	for (let r of [e.main, e.ruler]) r.addEventListener("wheel", (e) => hg(e, t, n), {
		...i,
		passive: !1
	});
	return () => r.abort();
}
function hg(e, t, n) {
	e.preventDefault();
	let r = t.timeline.length_ns, i = e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1, [a, o] = [e.deltaX * i, e.deltaY * i];
	e.ctrlKey || e.metaKey ? t.show(rg(t.view, e.offsetX, Math.exp(-o / 250), r)) : e.shiftKey ? t.show(ig(t.view, a || o, r)) : (a && t.show(ig(t.view, a, r)), o && n.scrollBy(o));
}
function gg(e, t, n, r) {
	let i = /* @__PURE__ */ new Map(), a = t.timeline.length_ns, o = null;
	e.addEventListener("pointerdown", (n) => {
		if (n.button !== 0) return;
		e.focus({ preventScroll: !0 }), e.setPointerCapture(n.pointerId), i.set(n.pointerId, {
			x: n.offsetX,
			y: n.offsetY
		});
		let r = $h(t.view, n.offsetX), { offsetX: a, offsetY: s, shiftKey: c } = n;
		o = i.size === 1 ? {
			x: a,
			y: s,
			time: r,
			range: c,
			moved: !1
		} : null;
	}, r), e.addEventListener("pointermove", (r) => {
		let s = i.get(r.pointerId), { offsetX: c, offsetY: l } = r;
		s ? (i.size === 2 ? _g(i, r, t, n) : o && (o.moved ||= Math.hypot(c - o.x, l - o.y) > pg, o.moved && o.range ? n.onRange(xg(o.time, $h(t.view, c), a), !1) : o.moved && (t.show(ig(t.view, s.x - c, a)), n.scrollBy(s.y - l), n.onHover(null, c, l), e.classList.add("dragged"))), (o?.moved || i.size > 1) && i.set(r.pointerId, {
			x: c,
			y: l
		})) : n.onHover(t.hit(c, l), c, l);
	}, r);
	let s = (r) => {
		if (i.delete(r.pointerId)) {
			if (e.classList.remove("dragged"), o && r.type === "pointerup") {
				let { offsetX: e, offsetY: i } = r;
				o.moved && o.range ? n.onRange(xg(o.time, $h(t.view, e), a), !0) : o.moved || n.onPick(t.hit(e, i)?.slice ?? null);
			}
			o = null;
		}
	};
	e.addEventListener("pointerup", s, r), e.addEventListener("pointercancel", s, r), e.addEventListener("pointerleave", (e) => n.onHover(null, e.offsetX, 0), r), e.addEventListener("dblclick", (e) => {
		let r = t.hit(e.offsetX, e.offsetY)?.slice;
		r && n.onDouble(r);
	}, r);
}
function _g(e, t, n, r) {
	let [i, a] = [...e.values()], o = {
		middle: (i.x + a.x) / 2,
		apart: Math.abs(i.x - a.x),
		y: (i.y + a.y) / 2
	}, s = e.get(t.pointerId) === i ? a : i, c = (t.offsetX + s.x) / 2, l = Math.abs(t.offsetX - s.x), u = n.timeline.length_ns, d = ig(n.view, o.middle - c, u), f = Math.max(l, 12) / Math.max(o.apart, 12);
	n.show(rg(d, c, f, u)), r.scrollBy(o.y - (t.offsetY + s.y) / 2);
}
function vg(e, t, n, r) {
	let i = t.timeline.length_ns;
	bg(e, r, (e, r, a) => {
		let o = $h(t.view, r.offsetX);
		Math.abs(r.offsetX - e.x) > pg || !a ? n.onRange(xg(e.time, o, i), a) : n.onRange(null, !0);
	}, (e) => $h(t.view, e));
}
function yg(e, t, n) {
	let r = t.timeline.length_ns, i = 0;
	bg(e, n, (e, n) => {
		let { view: a } = t, o = $h(t.whole, n.offsetX) - i;
		t.show(ng({
			...a,
			from: o,
			to: o + a.to - a.from
		}, r));
	}, (e) => {
		let { view: n, whole: r } = t, a = $h(r, e), o = 4 * eg(r);
		return i = a >= n.from - o && a <= n.to + o ? a - n.from : (n.to - n.from) / 2, a;
	});
}
function bg(e, t, n, r) {
	let i = null;
	e.addEventListener("pointerdown", (t) => {
		e.setPointerCapture(t.pointerId), i = {
			x: t.offsetX,
			time: r(t.offsetX)
		}, n(i, t, !1);
	}, t), e.addEventListener("pointermove", (e) => i && n(i, e, !1), t), e.addEventListener("pointerup", (e) => {
		i && n(i, e, !0), i = null;
	}, t), e.addEventListener("pointercancel", () => {
		i = null;
	}, t);
}
function xg(e, t, n) {
	let r = (e) => Math.min(Math.max(e, 0), n);
	return [r(Math.min(e, t)), r(Math.max(e, t))];
}
// src/trace/Tooltip.tsx
function Sg({ bind: e, width: t, height: n }) {
	let [r, i] = z(null);
	return e.current = i, r ? /* @__PURE__ */ H("div", {
		class: "trace-tooltip",
		style: {
			...r.x > t / 2 ? { right: `${t - r.x + 14}px` } : { left: `${r.x + 14}px` },
			...r.y > n / 2 ? { bottom: `${n - r.y + 12}px` } : { top: `${r.y + 16}px` }
		},
		"aria-hidden": "true",
		children: [/* @__PURE__ */ H("strong", { children: r.title }), r.lines.map((e) => /* @__PURE__ */ H("div", { children: e }, e))]
	}) : null;
}
function Cg(e) {
	return e.count === 1 ? [J("time_ns", e.dur_ns)] : [
		`${J("count", e.count)} slices; this one takes most`,
		`${J("time_ns", e.busy_ns)} within ${J("time_ns", e.dur_ns)}`,
		"zoom in to tell them apart"
	];
}
// src/trace/Canvas.tsx
function wg({ engine: e, layout: t, scroller: n, onToggle: r, onPick: i, onRange: a }) {
	let o = V(null), s = V(null), c = V(null), [l, u] = z({
		width: 0,
		height: 0
	}), d = V(() => {}), f = V({
		onPick: i,
		onRange: a
	});
	f.current = {
		onPick: i,
		onRange: a
	}, B(() => {
		let t = n.current, r = () => {
			let n = t.querySelector(".trace-names").offsetWidth, r = {
				width: Math.max(1, t.clientWidth - n),
				height: t.clientHeight
			};
			u(r), e.resize(r.width, r.height);
		}, i = {
			main: o.current,
			ruler: s.current,
			overview: c.current
		};
		e.attach(i), r();
		let a = new ResizeObserver(r);
		a.observe(t);
		let l = {
			x: 0,
			y: 0
		};
		e.onMoved = () => {
			if (e.cursor === null) return;
			let t = e.hit(l.x, l.y), n = i.main.classList.contains("dragged");
			d.current(n ? null : Tg(e, t, l.x, l.y));
		};
		let p = mg(i, e, {
			onHover: (t, n, r) => {
				Object.assign(l, {
					x: n,
					y: r
				}), d.current(Tg(e, t, n, r));
			},
			onPick: (e) => f.current.onPick(e),
			onDouble: (e) => f.current.onRange([e.from_ns, e.from_ns + e.dur_ns]),
			onRange: (t, n) => {
				e.range = t, e.redraw(), n && f.current.onRange(t);
			},
			scrollBy: (e) => t.scrollBy({
				top: e,
				behavior: "instant"
			})
		});
		return o.current.focus({ preventScroll: !0 }), () => {
			p(), a.disconnect(), e.attach(null);
		};
	}, [e]);
	let { timeline: p } = e, m = { width: `${l.width}px` };
	return /* @__PURE__ */ H("div", {
		class: "trace-canvas",
		children: [
			/* @__PURE__ */ H("div", {
				class: "head",
				children: [/* @__PURE__ */ H("div", {
					class: "corner",
					children: J("time_ns", p.length_ns)
				}), /* @__PURE__ */ H("canvas", {
					ref: c,
					style: {
						...m,
						height: "44px"
					},
					"aria-label": "Overview"
				})]
			}),
			/* @__PURE__ */ H("div", {
				class: "head",
				children: [/* @__PURE__ */ H("div", {
					class: "corner",
					children: p.steps.length > 0 && "Steps"
				}), /* @__PURE__ */ H("canvas", {
					ref: s,
					class: "ruler",
					style: {
						...m,
						height: "40px"
					},
					"aria-label": "Time"
				})]
			}),
			/* @__PURE__ */ H("div", {
				class: "body",
				children: [/* @__PURE__ */ H("div", {
					class: "scroller",
					ref: n,
					onScroll: (t) => {
						e.top = t.currentTarget.scrollTop, e.redraw();
					},
					children: /* @__PURE__ */ H("div", {
						class: "content",
						style: { height: `${t.height}px` },
						children: [/* @__PURE__ */ H(zh, {
							layout: t,
							onToggle: r
						}), /* @__PURE__ */ H("canvas", {
							ref: o,
							class: "slices",
							style: {
								...m,
								height: `${l.height}px`
							},
							tabIndex: 0,
							role: "application",
							"aria-label": "Timeline. Arrow keys go from slice to slice, W A S D zoom and move, question mark lists all keys."
						})]
					})
				}), /* @__PURE__ */ H("div", {
					class: "over",
					style: m,
					children: /* @__PURE__ */ H(Sg, {
						bind: d,
						...l
					})
				})]
			})
		]
	});
}
function Tg(e, t, n, r) {
	if (e.cursor = r > 0 ? n : null, e.hovered = t?.slice ?? null, e.redraw(), !t) return null;
	let { track: i } = t.item;
	if (jh(i)) {
		let t = e.valueAt(i.id, n);
		if (!t) return null;
		let a = (e) => Uh(e, i.unit), o = t.low < t.high ? [`${a(t.low)} to ${a(t.high)}`] : [];
		return {
			x: n,
			y: r,
			title: a(t.mean),
			lines: [i.name, ...o]
		};
	}
	return t.slice ? {
		x: n,
		y: r,
		title: e.names.text(t.slice.code),
		lines: Cg(t.slice)
	} : null;
}
// src/trace/decode.ts
var Eg = {
	f64: Float64Array,
	u32: Uint32Array,
	i32: Int32Array,
	u16: Uint16Array,
	u8: Uint8Array
}, Dg = [
	"track",
	"row",
	"start",
	"dur",
	"name",
	"count",
	"busy",
	"id"
];
function Og(e) {
	let t = new DataView(e).getUint32(0, !0), n = new TextDecoder().decode(new Uint8Array(e, 4, t)), r = JSON.parse(n), i = {}, a = kg(4 + t);
	for (let [t, n, o] of r.arrays) {
		let r = Eg[n];
		if (!r) throw Error(`The timeline came with an array of unknown type ${n}.`);
		i[t] = new r(e, a, o), a = kg(a + o * r.BYTES_PER_ELEMENT);
	}
	for (let e of Dg) if (!i[e]) throw Error(`The timeline came without its array "${e}".`);
	return {
		head: r,
		slices: i
	};
}
function kg(e) {
	return e + 7 & -8;
}
// src/trace/api.ts
var Ag = class extends Error {
	hint;
	constructor(e, t) {
		super(e), this.hint = t;
	}
}, jg = 300, Mg = 10;
function Ng(e, t) {
	let n = (n, r = {}) => {
		let i = new URL(`api/timeline/${n}`, e);
		for (let [e, n] of Object.entries({
			...t,
			...r
		})) n && i.searchParams.set(e, n);
		return i.href;
	}, r = async (e, t, r) => await (await Fg(n(e, t), r)).json(), i = (e) => ({
		...Pg([e.from, e.to]),
		pixels: String(e.pixels),
		tracks: e.tracks.join(",")
	});
	return {
		tracks: (e) => r("tracks", {}, e),
		slices: async (e, t) => Og(await (await Fg(n("slices", i(e)), t)).arrayBuffer()),
		counters: (e, t) => r("counters", i(e), t),
		slice: (e, t) => r("slice", { id: String(e) }, t),
		flows: (e, t, n) => r("flows", {
			...Pg(e),
			tracks: t.join(",")
		}, n),
		aggregate: (e, t, n) => r("aggregate", {
			...Pg(e),
			tracks: t.join(",")
		}, n),
		search: (e, t) => r("search", { q: e }, t),
		exportUrl: (e) => n("export", e ? Pg(e) : {})
	};
}
function Pg([e, t]) {
	return {
		from: String(Math.floor(e)),
		to: String(Math.ceil(t))
	};
}
async function Fg(e, t = {}) {
	for (let n = 0;;) {
		let r = await fetch(e, t.signal ? { signal: t.signal } : {}).catch((e) => {
			throw t.signal?.aborted ? e : new Ag("The server does not answer.", "Is `timesink serve` still running?");
		});
		if (r.status === 202) t.onProgress?.(await r.json()), await Lg(jg, t.signal);
		else if (r.status === 503 && n++ < Mg) await Lg(jg, t.signal);
		else if (r.ok) return r;
		else throw await Ig(r);
	}
}
async function Ig(e) {
	let t = await e.json().catch(() => ({}));
	return new Ag(t.error ?? `The server answers ${e.status} ${e.statusText}.`, t.hint ?? "");
}
function Lg(e, t) {
	return new Promise((n, r) => {
		let i = setTimeout(n, e);
		t?.addEventListener("abort", () => {
			clearTimeout(i), r(t.reason);
		});
	});
}
// src/trace/Trouble.tsx
function Rg({ error: e, onAgain: t }) {
	let n = e instanceof Ag ? e.hint : "";
	return /* @__PURE__ */ H("div", {
		class: "trace-trouble",
		role: "alert",
		children: [
			/* @__PURE__ */ H("p", { children: e.message }),
			n && /* @__PURE__ */ H("p", {
				class: "hint",
				children: n
			}),
			t && /* @__PURE__ */ H("button", {
				type: "button",
				class: "button",
				onClick: t,
				children: "Try again"
			})
		]
	});
}
function zg({ progress: e }) {
	let t = e?.share ?? null;
	return /* @__PURE__ */ H("div", {
		class: "trace-waiting",
		role: "status",
		children: [/* @__PURE__ */ H("p", { children: [e ? `The server is ${e.doing}` : "Opening the timeline", " …"] }), /* @__PURE__ */ H("progress", {
			"aria-label": "Progress",
			...t === null ? {} : {
				value: t,
				max: 1
			}
		})]
	});
}
// src/trace/Details.tsx
var Bg = {
	operators: "Operator",
	kernels: "Kernel",
	modules: "Module"
};
function Vg({ details: e, hrefOf: t, onJump: n }) {
	if (e.error) return /* @__PURE__ */ H(Rg, { error: e.error });
	let r = e.value;
	return r ? /* @__PURE__ */ H("div", {
		class: "trace-details",
		children: [/* @__PURE__ */ H("div", {
			class: "main",
			children: [
				/* @__PURE__ */ H("h3", { children: r.name }),
				/* @__PURE__ */ H("p", {
					class: "links",
					children: r.links.map(({ label: e, page: n, search: r }) => /* @__PURE__ */ H("a", {
						href: t(n, r),
						title: e,
						children: [
							Bg[n],
							" ",
							e
						]
					}, n + r))
				}),
				/* @__PURE__ */ H("dl", {
					class: "facts",
					children: [
						/* @__PURE__ */ H(Hg, {
							label: "Duration",
							value: J("time_ns", r.dur_ns)
						}),
						/* @__PURE__ */ H(Hg, {
							label: "Self time",
							value: J("time_ns", r.self_ns)
						}),
						/* @__PURE__ */ H(Hg, {
							label: "Start",
							value: J("moment_ns", r.from_ns)
						}),
						/* @__PURE__ */ H(Hg, {
							label: "Kind",
							value: r.kind
						}),
						r.facts.map(([e, t]) => /* @__PURE__ */ H(Hg, {
							label: e,
							value: t
						}, e))
					]
				})
			]
		}), /* @__PURE__ */ H("div", {
			class: "beside",
			children: [/* @__PURE__ */ H(Ug, {
				title: "Flows",
				rows: r.flows.map(({ kind: e, direction: t, place: n }) => ({
					label: `${t === "to" ? "→" : "←"} ${e}`,
					place: n
				})),
				onJump: n
			}), /* @__PURE__ */ H(Ug, {
				title: "Around, outermost first",
				rows: r.around.map((e) => ({
					label: "",
					place: e
				})),
				onJump: n
			})]
		})]
	}) : /* @__PURE__ */ H("p", {
		class: "told",
		children: "Looking it up …"
	});
}
function Hg({ label: e, value: t }) {
	return t ? /* @__PURE__ */ H("div", { children: [/* @__PURE__ */ H("dt", { children: e.charAt(0).toUpperCase() + e.slice(1) }), /* @__PURE__ */ H("dd", { children: t })] }) : null;
}
function Ug({ title: e, rows: t, onJump: n }) {
	return t.length ? /* @__PURE__ */ H(b, { children: [/* @__PURE__ */ H("h4", { children: e }), /* @__PURE__ */ H("ol", {
		class: "places",
		children: t.map(({ label: e, place: t }) => /* @__PURE__ */ H("li", { children: [
			e && /* @__PURE__ */ H("span", {
				class: "told",
				children: [e, " "]
			}),
			/* @__PURE__ */ H("button", {
				type: "button",
				class: "jump",
				onClick: () => n(t),
				children: t.name
			}),
			/* @__PURE__ */ H("span", {
				class: "told",
				children: [" ", J("time_ns", t.dur_ns)]
			})
		] }, `${e}${t.id}`))
	})] }) : null;
}
function Wg({ slice: e, name: t, onZoom: n }) {
	return /* @__PURE__ */ H("div", {
		class: "trace-details",
		children: /* @__PURE__ */ H("div", {
			class: "main",
			children: [
				/* @__PURE__ */ H("h3", { children: [J("count", e.count), " slices, too short to tell apart here"] }),
				/* @__PURE__ */ H("p", { children: [
					"They take ",
					J("time_ns", e.busy_ns),
					" of ",
					J("time_ns", e.dur_ns),
					"; most of it is ",
					/* @__PURE__ */ H("strong", { children: t }),
					"."
				] }),
				/* @__PURE__ */ H("button", {
					type: "button",
					class: "button",
					onClick: n,
					children: "Zoom in on them (F)"
				})
			]
		})
	});
}
// src/trace/FoundNames.tsx
function Gg({ found: e, q: t, onSearch: n }) {
	if (e.error) return /* @__PURE__ */ H(Rg, { error: e.error });
	if (!e.value) return /* @__PURE__ */ H("p", {
		class: "told",
		children: "Searching …"
	});
	if (!e.value.total) return /* @__PURE__ */ H("p", {
		class: "told",
		children: [
			"No slice has “",
			t,
			"” in its name."
		]
	});
	let { hits: r, total: i, names: a } = e.value;
	return /* @__PURE__ */ H("div", {
		class: "trace-found",
		children: [r.length < i && /* @__PURE__ */ H("p", {
			class: "told",
			children: [
				"Enter goes through the first ",
				J("count", r.length),
				" of ",
				J("count", i),
				"."
			]
		}), /* @__PURE__ */ H("table", { children: [/* @__PURE__ */ H("thead", { children: /* @__PURE__ */ H("tr", { children: [
			/* @__PURE__ */ H("th", { children: "Name" }),
			/* @__PURE__ */ H("th", {
				class: "number",
				children: "Slices"
			}),
			/* @__PURE__ */ H("th", {
				class: "number",
				children: "Total"
			})
		] }) }), /* @__PURE__ */ H("tbody", { children: a.map(({ name: e, count: t, total_ns: r }) => /* @__PURE__ */ H("tr", { children: [
			/* @__PURE__ */ H("td", { children: /* @__PURE__ */ H("button", {
				type: "button",
				class: "jump",
				onClick: () => n(e),
				children: e
			}) }),
			/* @__PURE__ */ H("td", {
				class: "number",
				children: J("count", t)
			}),
			/* @__PURE__ */ H("td", {
				class: "number",
				children: J("time_ns", r)
			})
		] }, e)) })] })]
	});
}
// src/trace/keys.ts
var Kg = {
	w: "zoom in",
	"+": "zoom in",
	"=": "zoom in",
	s: "zoom out",
	"-": "zoom out",
	a: "left",
	d: "right",
	f: "focus",
	m: "range",
	"/": "search",
	n: "next hit",
	p: "previous hit",
	arrowright: "next",
	arrowleft: "previous",
	arrowup: "outer",
	arrowdown: "inner",
	l: "flows",
	0: "fit",
	home: "fit",
	escape: "clear",
	"?": "help",
	pageup: "up",
	pagedown: "down"
}, qg = [
	[["W", "S"], "zoom in and out at the pointer; also Ctrl + wheel or a pinch"],
	[["A", "D"], "move left and right; also Shift + wheel, or drag"],
	[["0"], "show everything"],
	[["←", "→"], "previous and next slice of the row"],
	[["↑", "↓"], "slice around, first slice within"],
	[["F"], "bring the chosen slice into full view"],
	[["M"], "choose the time of the chosen slice as a range; also double click"],
	[["Shift + drag"], "choose a range of time; also drag on the ruler"],
	[["L"], "show or hide arrows from launches to device work"],
	[["/"], "search; Enter and Shift + Enter go through what was found, N and P as well"],
	[["PgUp", "PgDn"], "scroll through tracks"],
	[["Esc"], "clear choice, range and search, one by one"],
	[["?"], "show or hide this sheet"]
];
function Jg({ key: e, ctrlKey: t, metaKey: n, altKey: r }) {
	return t || n || r ? null : Kg[e.toLowerCase()] ?? null;
}
// src/trace/KeySheet.tsx
function Yg({ onClose: e }) {
	let t = V(null);
	return B(() => t.current?.showModal(), []), /* @__PURE__ */ H("dialog", {
		ref: t,
		class: "trace-keys",
		"aria-label": "Keys of the trace view",
		onClose: e,
		onKeyDown: (t) => {
			t.key === "?" && e();
		},
		children: [
			/* @__PURE__ */ H("h2", { children: "Keys" }),
			/* @__PURE__ */ H("dl", { children: qg.map(([e, t]) => /* @__PURE__ */ H("div", {
				class: "key",
				children: [/* @__PURE__ */ H("dt", { children: e.map((e) => /* @__PURE__ */ H("kbd", { children: e }, e)) }), /* @__PURE__ */ H("dd", { children: t })]
			}, t)) }),
			/* @__PURE__ */ H("form", {
				method: "dialog",
				children: /* @__PURE__ */ H("button", {
					type: "submit",
					class: "button",
					children: "Close"
				})
			})
		]
	});
}
// src/trace/Panel.tsx
function Xg({ tabs: e, open: t, onOpen: n }) {
	let r = e.find((e) => e.id === t) ?? e[0];
	return r ? /* @__PURE__ */ H("section", {
		class: "trace-panel",
		"aria-label": "What was chosen",
		children: [/* @__PURE__ */ H("div", {
			class: "tabs",
			children: [/* @__PURE__ */ H("div", {
				role: "tablist",
				children: e.map((e) => /* @__PURE__ */ H("button", {
					type: "button",
					role: "tab",
					"aria-selected": e === r,
					onClick: () => n(e.id),
					children: e.title
				}, e.id))
			}), /* @__PURE__ */ H("button", {
				type: "button",
				class: "icon-button close",
				"aria-label": "Close",
				onClick: r.onClose,
				children: /* @__PURE__ */ H(U, { name: "close" })
			})]
		}), /* @__PURE__ */ H("div", {
			class: "content",
			role: "tabpanel",
			children: r.content
		})]
	}) : null;
}
// src/trace/useAnswer.ts
var Zg = {
	value: null,
	error: null,
	progress: null,
	loading: !1
};
function Qg(e, t, n = 0) {
	let [r, i] = z(Zg);
	return B(() => {
		if (!e) {
			i(Zg);
			return;
		}
		let t = new AbortController();
		i((e) => ({
			...e,
			error: null,
			progress: null,
			loading: !0
		}));
		let r = (e) => {
			t.signal.aborted || i((t) => ({
				...t,
				...e
			}));
		}, a = setTimeout(() => {
			e({
				signal: t.signal,
				onProgress: (e) => r({ progress: e })
			}).then((e) => r({
				value: e,
				loading: !1
			}), (e) => r({
				value: null,
				error: e,
				loading: !1
			}));
		}, n);
		return () => {
			clearTimeout(a), t.abort();
		};
	}, t), r;
}
// src/trace/RangeTable.tsx
function $g({ api: e, range: t, tracks: n, hrefOf: r }) {
	let { value: i, error: a, progress: o } = Qg((r) => e.aggregate(t, n, r), [
		e,
		t.join(),
		n.join()
	], 30), s = Ae(() => {
		let e = {
			operator: "operators",
			kernel: "kernels",
			module: "modules"
		};
		return {
			hrefOfCell: (t, n) => t in e ? r(e[t], n) : null,
			hrefOfLink: () => null
		};
	}, [r]);
	return a ? /* @__PURE__ */ H(Rg, { error: a }) : i ? /* @__PURE__ */ H(dn.Provider, {
		value: s,
		children: /* @__PURE__ */ H(Vp, { block: i })
	}) : /* @__PURE__ */ H(zg, { progress: o });
}
// src/trace/Export.tsx
function e_({ api: e, range: t }) {
	return /* @__PURE__ */ H("details", {
		class: "trace-export",
		onKeyDown: (e) => {
			e.key === "Escape" && e.currentTarget.open && (e.preventDefault(), e.currentTarget.open = !1);
		},
		children: [/* @__PURE__ */ H("summary", {
			class: "button",
			children: "Export for Perfetto"
		}), /* @__PURE__ */ H("div", {
			class: "menu",
			children: [
				/* @__PURE__ */ H("p", { children: "Downloads a trace file. Open it at ui.perfetto.dev." }),
				/* @__PURE__ */ H("a", {
					class: "button",
					href: e.exportUrl(),
					download: !0,
					children: "The whole recording"
				}),
				t ? /* @__PURE__ */ H("a", {
					class: "button",
					href: e.exportUrl(t),
					download: !0,
					children: ["The chosen range of ", J("time_ns", t[1] - t[0])]
				}) : /* @__PURE__ */ H("p", {
					class: "told",
					children: "Drag on the ruler to choose a range to export."
				})
			]
		})]
	});
}
// src/trace/SearchBox.tsx
var t_ = 180;
function n_({ q: e, onSearch: t, search: n, box: r }) {
	let [i, a] = z(e), o = V(e), s = (e) => {
		e !== o.current && (o.current = e, t(e));
	};
	B(() => {
		e !== o.current && a(e), o.current = e;
	}, [e]), B(() => {
		let e = setTimeout(() => s(i), t_);
		return () => clearTimeout(e);
	}, [i]);
	let c = n.found.value?.total ?? 0;
	return /* @__PURE__ */ H("div", {
		class: "trace-search",
		children: [
			/* @__PURE__ */ H(U, { name: "search" }),
			/* @__PURE__ */ H("input", {
				ref: r,
				type: "search",
				class: "input",
				placeholder: "Search slices ( / )",
				"aria-label": "Search slices by name",
				value: i,
				onInput: (e) => a(e.currentTarget.value),
				onKeyDown: (t) => {
					t.key === "Escape" && t.currentTarget.blur(), t.key === "Enter" && (s(i), n.step(t.shiftKey ? -1 : 1, i !== e || n.found.loading));
				}
			}),
			e && /* @__PURE__ */ H(b, { children: [
				/* @__PURE__ */ H("span", {
					class: "told",
					role: "status",
					children: r_(n.found, n.hit)
				}),
				/* @__PURE__ */ H("button", {
					type: "button",
					class: "icon-button",
					"aria-label": "Previous hit",
					disabled: !c,
					onClick: () => n.step(-1),
					children: /* @__PURE__ */ H(U, { name: "up" })
				}),
				/* @__PURE__ */ H("button", {
					type: "button",
					class: "icon-button",
					"aria-label": "Next hit",
					disabled: !c,
					onClick: () => n.step(1),
					children: /* @__PURE__ */ H(U, { name: "down" })
				})
			] })
		]
	});
}
function r_({ value: e, loading: t }, n) {
	if (!e) return t ? "searching" : "";
	if (!e.total) return "nothing found";
	let r = J("count", e.total);
	return n < 0 ? `${r} found` : `${J("count", n + 1)} of ${r}`;
}
// src/trace/Toolbar.tsx
function i_(e) {
	let { run: t, flows: n, range: r, api: i, q: a, onSearch: o, search: s, searchBox: c } = e;
	return /* @__PURE__ */ H("div", {
		class: "trace-bar",
		role: "toolbar",
		"aria-label": "Timeline",
		children: [
			/* @__PURE__ */ H(n_, {
				q: a,
				onSearch: o,
				search: s,
				box: c
			}),
			/* @__PURE__ */ H("div", {
				class: "buttons",
				children: [
					/* @__PURE__ */ H("button", {
						type: "button",
						class: "button",
						title: "Show everything (0)",
						onClick: () => t("fit"),
						children: "Fit all"
					}),
					/* @__PURE__ */ H("button", {
						type: "button",
						class: "button",
						title: "Zoom in (W)",
						onClick: () => t("zoom in"),
						children: "Zoom in"
					}),
					/* @__PURE__ */ H("button", {
						type: "button",
						class: "button",
						title: "Zoom out (S)",
						onClick: () => t("zoom out"),
						children: "Zoom out"
					}),
					/* @__PURE__ */ H("button", {
						type: "button",
						class: "button",
						title: "Arrows from launches to device work (L)",
						"aria-pressed": n !== null,
						onClick: () => t("flows"),
						children: "Flows"
					}),
					n && /* @__PURE__ */ H("span", {
						class: "told",
						children: a_(n)
					}),
					/* @__PURE__ */ H(e_, {
						api: i,
						range: r
					}),
					/* @__PURE__ */ H("button", {
						type: "button",
						class: "button",
						title: "Keys (?)",
						onClick: () => t("help"),
						children: "Keys"
					})
				]
			}),
			/* @__PURE__ */ H("span", {
				class: "trace-busy",
				role: "status",
				children: e.loading ? "loading" : ""
			})
		]
	});
}
function a_({ value: e, error: t }) {
	if (t) return t.message;
	if (!e) return "";
	let n = e.from.length, r = J("count", e.total);
	return n < e.total ? `${J("count", n)} of ${r}` : r;
}
// src/trace/useBatched.ts
function o_(e) {
	let t = V(e);
	t.current = e;
	let n = V(null);
	return V((e, r) => {
		let i = n.current, a = r === "push" || i?.how === "push";
		n.current = {
			next: {
				...i?.next,
				...e
			},
			how: a ? "push" : "replace"
		}, i || queueMicrotask(() => {
			let { next: e, how: r } = n.current;
			n.current = null, t.current(e, r);
		});
	}).current;
}
// src/trace/useChoice.ts
function s_({ api: e, engine: t, placed: n, onState: r, scrollTo: i }, a, o) {
	let [s, c] = z(null), [l, u] = z(null), d = V(void 0), f = V(n), p = Qg(a === void 0 ? null : (t) => e.slice(a, t), [e, a]), m = p.value?.id === a ? p : {
		...p,
		value: null
	}, h = (e) => {
		i(e);
		let { aim: n, timeline: r } = t, a = e.from_ns + e.dur_ns, o = og(n, e.from_ns, a, r.length_ns);
		o !== n && t.glide(o);
	}, g = (e, t = "push") => {
		f.current = !1, u(e), c(e && e.id < 0 ? e : null);
		let n = e && e.id >= 0 ? e.id : void 0;
		d.current = n, n !== a && r({ select: n }, t);
	}, _ = (e, t = "push") => {
		f.current = !1, u(e), c(null), d.current = e.id, e.id !== a && r({ select: e.id }, t), h(e);
	}, v = (e) => {
		g(e, "replace"), h(e);
	};
	B(() => {
		a === void 0 && !s && u(null);
	}, [a, s]), B(() => {
		let e = m.value;
		e && (c(null), u(e), f.current ? i(e) : d.current !== e.id && h(e), f.current = !1, d.current = e.id);
	}, [m.value]);
	let y = Ae(() => c_(m.value, o), [m.value, o]);
	return B(() => {
		t.selected = l, t.arrows = y, t.redraw();
	}, [
		t,
		l,
		y
	]), {
		details: m,
		merged: s,
		spot: l,
		pick: g,
		jump: _,
		walk: v,
		focus: () => {
			if (!l) return;
			i(l);
			let e = l.from_ns + l.dur_ns;
			t.glide(ag(t.aim, l.from_ns, e, t.timeline.length_ns));
		}
	};
}
function c_(e, t) {
	let n = (t?.from ?? []).map((e, n) => ({
		from: e,
		to: t.to[n],
		strong: !1
	})), r = (e?.flows ?? []).map(({ direction: t, place: n }) => ({
		from: t === "to" ? e : n,
		to: t === "to" ? n : e,
		strong: !0
	}));
	return [...n, ...r];
}
// src/trace/colours.ts
var l_ = {
	host: {
		hues: [
			212,
			190,
			152
		],
		strength: .62
	},
	annotation: {
		hues: [
			88,
			74,
			104
		],
		strength: .4
	},
	communication: {
		hues: [
			292,
			306,
			278
		],
		strength: .45
	},
	matmul: {
		hues: [
			32,
			38,
			26
		],
		strength: .78
	},
	convolution: {
		hues: [
			12,
			6,
			18
		],
		strength: .7
	},
	attention: {
		hues: [
			52,
			48,
			57
		],
		strength: .72
	},
	reduction: {
		hues: [
			150,
			160,
			142
		],
		strength: .45
	},
	elementwise: {
		hues: [
			206,
			214,
			199
		],
		strength: .55
	},
	copy: {
		hues: [
			186,
			181,
			191
		],
		strength: .42
	},
	device: {
		hues: [
			24,
			214,
			168
		],
		strength: .24
	}
}, u_ = [
	.64,
	.73,
	.82
], d_ = [
	[/nccl|rccl|hccl|cncl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast_/i, "communication"],
	[/memcpy|memset|\bcopy|dma/i, "copy"],
	[/flash|fmha|attention|attn|softmax|sdpa/i, "attention"],
	[/conv|wgrad|dgrad|fprop|winograd|im2col/i, "convolution"],
	[/gemm|gemv|matmul|cutlass|xmma|wgmma|nvjet|cublas|splitk|\bmm\b/i, "matmul"],
	[/reduce|norm|welford|cunn|cumsum|sort|topk|scan/i, "reduction"],
	[/elementwise|vectorized|multi_tensor|foreach|pointwise|adam|sgd|fill|dropout|index|gather|scatter|cat/i, "elementwise"]
], f_ = Object.keys(l_), p_ = 9, m_ = 4.5, h_ = f_.length * p_;
h_ + 1;
function g_(e, t) {
	let n = v_(e, t);
	return f_.indexOf(n) * p_ + w_(t.replace(/\d+/g, "")) % p_;
}
function __(e) {
	let t = e === "device" ? "matmul" : v_(e, "");
	return f_.indexOf(t) * p_;
}
function v_(e, t) {
	return e === "annotation" || e === "communication" ? e : e === "device" ? d_.find(([e]) => e.test(t))?.[1] ?? "device" : "host";
}
function y_(e) {
	let t = e ? "#f4f6fa" : "#15181d", n = [];
	for (let r of f_) {
		let { hues: i, strength: a } = l_[r];
		for (let r = 0; r < p_; r++) {
			let o = i[Math.floor(r / u_.length) % i.length], s = u_[r % u_.length];
			n.push(b_(o, e ? a * .8 : a, e ? 1.1 - s : s, t));
		}
	}
	return n.push(e ? "#2b313b" : "#e4e7ec"), {
		fills: n,
		text: t
	};
}
function b_(e, t, n, r) {
	let i = S_(r) > .5 ? -.01 : .01, a = C_(e, t, n);
	for (let o = n; x_(a, r) < m_; o += i) a = C_(e, t, o);
	return a;
}
function x_(e, t) {
	let [n, r] = [S_(e), S_(t)];
	return (Math.max(n, r) + .05) / (Math.min(n, r) + .05);
}
function S_(e) {
	let [t, n, r] = [
		1,
		3,
		5
	].map((t) => {
		let n = Number.parseInt(e.slice(t, t + 2), 16) / 255;
		return n <= .04045 ? n / 12.92 : ((n + .055) / 1.055) ** 2.4;
	});
	return .2126 * t + .7152 * n + .0722 * r;
}
function C_(e, t, n) {
	let r = t * Math.min(n, 1 - n), i = (t) => {
		let i = (t + e / 30) % 12, a = n - r * Math.max(-1, Math.min(i - 3, 9 - i, 1));
		return Math.round(a * 255).toString(16).padStart(2, "0");
	};
	return `#${i(0)}${i(8)}${i(4)}`;
}
function w_(e) {
	let t = 2166136261;
	for (let n = 0; n < e.length; n++) t = Math.imul(t ^ e.charCodeAt(n), 16777619);
	return (t ^ t >>> 15) >>> 0;
}
// src/trace/context.ts
function T_(e, t, n) {
	let r = devicePixelRatio || 1, [i, a] = [Math.round(t * r), Math.round(n * r)];
	e.width !== i && (e.width = i), e.height !== a && (e.height = a);
	let o = e.getContext("2d", { alpha: !1 });
	return o.setTransform(r, 0, 0, r, 0, 0), o;
}
// src/trace/hit.ts
function E_(e, t) {
	let { slices: n } = e;
	return {
		track: n.track[t],
		row: n.row[t],
		from_ns: n.start[t],
		dur_ns: n.dur[t],
		code: n.name[t],
		count: n.count[t],
		busy_ns: n.busy[t],
		id: n.id[t]
	};
}
function D_(e, t, n, r) {
	let i = null, a = r;
	for (let { from: o, to: s, chunk: c } of e) {
		if (n < o - r || n > s + r || t >= Gh(c.data)) continue;
		let e = c.data.begin[t + 1];
		for (let o = Kh(c.data, t, n - r); o < e; o++) {
			let e = E_(c.data, o);
			if (e.from_ns > n + r) break;
			let t = Math.max(e.from_ns - n, n - e.from_ns - e.dur_ns, 0);
			t > a || i && t === a || (i = e, a = t);
		}
	}
	return i;
}
function O_(e, t, n, r, i) {
	let a = Fh(e, t);
	if (a?.type !== "track") return null;
	let o = Ih(a, t);
	return o === null ? null : {
		item: a,
		row: o,
		slice: D_(i(a.track.id), o, n, r)
	};
}
function k_(e, t, n) {
	let r = n === 1 ? e : [...e].reverse();
	for (let { chunk: e } of r) {
		if (t.row >= Gh(e.data)) continue;
		let { start: r } = e.data.slices, i = e.data.begin[t.row], a = e.data.begin[t.row + 1];
		if (n === 1) {
			let n = Kh(e.data, t.row, t.from_ns + t.dur_ns);
			for (; n < a && r[n] < t.from_ns + t.dur_ns;) n++;
			if (n < a) return E_(e.data, n);
		} else {
			let n = Math.min(Kh(e.data, t.row, t.from_ns), a - 1);
			for (; n >= i && r[n] >= t.from_ns;) n--;
			if (n >= i) return E_(e.data, n);
		}
	}
	return null;
}
// src/trace/windows.ts
var A_ = 512;
function j_(e) {
	return Math.max(-6, Math.floor(Math.log2(e)));
}
function M_(e, t, n) {
	let r = A_ * 2 ** t, i = Math.max(0, Math.floor(e.from / r) * r), a = Math.min(n, Math.ceil(e.to / r) * r);
	return {
		from: i,
		to: Math.max(a, i)
	};
}
var N_ = class {
	tracks = /* @__PURE__ */ new Map();
	answers = /* @__PURE__ */ new Map();
	clock = 0;
	held = 0;
	limit;
	constructor(e) {
		this.limit = e;
	}
	add(e, t, n) {
		let r = `${e.level}/${e.from}/${e.to}/${e.tracks.join(",")}`;
		if (this.answers.has(r)) return;
		let i = {
			key: r,
			size: n,
			used: ++this.clock,
			tracks: [...e.tracks]
		};
		this.answers.set(r, i), this.held += n;
		for (let n of e.tracks) {
			let r = t.get(n);
			if (r === void 0) continue;
			let { from: a, to: o, level: s } = e, c = this.tracks.get(n) ?? [];
			c.push({
				from: a,
				to: o,
				level: s,
				data: r,
				answer: i
			}), this.tracks.set(n, c);
		}
		this.forget(i);
	}
	pieces(e, t, n) {
		let r = this.tracks.get(e);
		if (!r) return [];
		let i = [...r].sort((e, n) => P_(e, t) - P_(n, t)), a = [], o = [n];
		for (let e of i) {
			if (!o.length) break;
			let t = [];
			for (let n of o) {
				let r = Math.max(n.from, e.from), i = Math.min(n.to, e.to);
				i <= r ? t.push(n) : (a.push({
					from: r,
					to: i,
					chunk: e
				}), e.answer.used = ++this.clock, n.from < r && t.push({
					from: n.from,
					to: r
				}), i < n.to && t.push({
					from: i,
					to: n.to
				}));
			}
			o = t;
		}
		return a.sort((e, t) => e.from - t.from);
	}
	missing(e, t, n, r) {
		let i = M_(n, t, r), a = /* @__PURE__ */ new Map();
		for (let n of e) for (let { from: e, to: r } of this.gaps(n, t, i)) {
			let i = `${e}/${r}`, o = Math.max(1, Math.ceil((r - e) / 2 ** t)), s = a.get(i) ?? {
				from: e,
				to: r,
				level: t,
				pixels: o,
				tracks: []
			};
			s.tracks.push(n), a.set(i, s);
		}
		return [...a.values()];
	}
	gaps(e, t, n) {
		let r = n.to > n.from ? [n] : [];
		for (let n of this.tracks.get(e) ?? []) n.level === t && (r = r.flatMap((e) => [{
			from: e.from,
			to: Math.min(e.to, n.from)
		}, {
			from: Math.max(e.from, n.to),
			to: e.to
		}].filter((e) => e.to > e.from)));
		return r;
	}
	forget(e) {
		if (!(this.held <= this.limit)) for (let t of [...this.answers.values()].sort((e, t) => e.used - t.used)) {
			if (this.held <= this.limit * .8) return;
			if (t !== e) {
				this.answers.delete(t.key), this.held -= t.size;
				for (let e of t.tracks) {
					let n = (this.tracks.get(e) ?? []).filter((e) => e.answer !== t);
					this.tracks.set(e, n);
				}
			}
		}
	}
};
function P_(e, t) {
	return e.level <= t ? t - e.level : (e.level - t) * 1.5;
}
// src/trace/loader.ts
var F_ = 30, I_ = 3e6, L_ = 5e5, R_ = class {
	api;
	length;
	names;
	events;
	slices = new N_(I_);
	curves = new N_(L_);
	running = [];
	timer = null;
	wanted = null;
	overview = null;
	constructor(e, t, n, r) {
		this.api = e, this.length = t, this.names = n, this.events = r;
	}
	want(e, t) {
		this.wanted = {
			view: e,
			tracks: t
		}, this.timer ??= setTimeout(() => {
			this.timer = null, this.ask();
		}, F_);
	}
	stop() {
		this.timer && clearTimeout(this.timer), this.wanted = null;
		for (let e of this.running) e.abort.abort();
	}
	ask() {
		if (!this.wanted) return;
		let { view: e, tracks: t } = this.wanted, n = j_(eg(e));
		this.dropStale(n, e);
		let r = this.requests(t, n, e);
		for (let e of r) this.start({
			...e,
			ahead: !1
		});
		if (!r.length && !this.running.some((e) => !e.ahead)) {
			let r = e.to - e.from, i = {
				from: e.from - r,
				to: e.to + r
			};
			for (let e of [...this.requests(t, n, i), ...this.overviewRequests()]) this.start({
				...e,
				ahead: !0
			});
		}
		this.tell();
	}
	overviewRequests() {
		if (!this.overview) return [];
		let { view: e, tracks: t } = this.overview;
		return this.requests(t, j_(eg(e)), e);
	}
	requests(e, t, n) {
		return [!0, !1].flatMap((r) => {
			let i = e.filter((e) => jh(e) === r).map((e) => e.id);
			return (r ? this.curves : this.slices).missing(i, t, n, this.length).filter((e) => !this.running.some((t) => z_(t, e, r))).map((e) => ({
				...e,
				curves: r
			}));
		});
	}
	dropStale(e, t) {
		for (let n of this.running) {
			let r = n.to < t.from || n.from > t.to;
			n.level !== this.overviewLevel && (r && !n.ahead || Math.abs(n.level - e) > 1) && n.abort.abort();
		}
	}
	get overviewLevel() {
		return this.overview && j_(eg(this.overview.view));
	}
	async start(e) {
		let t = {
			...e,
			abort: new AbortController()
		};
		this.running.push(t);
		try {
			let n = { signal: t.abort.signal };
			await (e.curves ? this.fetchCurves(e, n) : this.fetchSlices(e, n)), this.events.onError(null), this.events.onData();
		} catch (e) {
			if (t.abort.signal.aborted) return;
			this.wanted = null, this.events.onError(e);
		} finally {
			this.running = this.running.filter((e) => e !== t), this.wanted && !t.abort.signal.aborted && this.want(this.wanted.view, this.wanted.tracks), this.tell();
		}
	}
	async fetchSlices(e, t) {
		let { head: n, slices: r } = await this.api.slices(e, t);
		this.names.add(n.names), this.slices.add(e, Wh(r, e.tracks), n.slices + 1);
	}
	async fetchCurves(e, t) {
		let { tracks: n } = await this.api.counters(e, t), r = new Map(n.map((e) => [e.track, e])), i = n.reduce((e, { x: t }) => e + t.length, 1);
		this.curves.add(e, r, i);
	}
	tell() {
		this.events.onLoading(this.running.some((e) => !e.ahead));
	}
};
function z_(e, t, n) {
	if (e.curves !== n || e.level !== t.level || e.abort.signal.aborted) return !1;
	let r = new Set(e.tracks);
	return e.from <= t.from && e.to >= t.to && t.tracks.every((e) => r.has(e));
}
// src/trace/names.ts
var B_ = 2, V_ = 5e4, H_ = class {
	texts = /* @__PURE__ */ new Map();
	tables = /* @__PURE__ */ new Map();
	widths = /* @__PURE__ */ new Map();
	wanted = "";
	highest = 0;
	add(e) {
		for (let [t, n] of Object.entries(e)) {
			let e = Number(t);
			this.texts.set(e, n), this.highest = Math.max(this.highest, e);
		}
	}
	text(e) {
		return this.texts.get(e) ?? "";
	}
	colours(e) {
		let t = this.tables.get(e);
		if (t && t.length > this.highest) return t;
		let n = new Uint8Array(Math.max(1024, 2 * (this.highest + 1))).fill(255);
		return t && n.set(t), this.tables.set(e, n), n;
	}
	colour(e, t) {
		let n = this.colours(e), r = n[t];
		if (r !== 255) return r;
		let i = this.matches(t) ? g_(e, this.text(t)) : h_;
		return n[t] = i, i;
	}
	search(e) {
		e.toLowerCase() !== this.wanted && (this.wanted = e.toLowerCase(), this.tables.clear());
	}
	matches(e) {
		return !this.wanted || this.text(e).toLowerCase().includes(this.wanted);
	}
	width(e, t) {
		let n = this.widths.get(e);
		return n === void 0 && (this.widths.size > V_ && this.widths.clear(), n = t(e), this.widths.set(e, n)), n;
	}
	cut(e, t, n) {
		let r = this.text(e), i = this.width(r, n);
		if (i <= t) return r;
		let a = Math.floor(r.length * t / i);
		for (; a >= B_;) {
			let e = `${r.slice(0, a)}…`;
			if (this.width(e, n) <= t) return e;
			a--;
		}
		return "";
	}
};
// src/trace/overview.ts
function U_(e) {
	let t = (t, n) => e.filter((e) => t.includes(e.kind)).sort((e, t) => t.events - e.events).slice(0, n);
	return [...t(["host"], 2), ...t(["device", "communication"], 4)];
}
// src/trace/paintCurves.ts
var W_ = 4;
function G_(e, t, n, r, i, a) {
	let { lowest: o, highest: s } = t.track, c = Math.min(0, o), l = t.height - 8, u = t.y - i + W_ + l, d = l / (s - c || 1), f = (e) => u - (e - c) * d;
	e.fillStyle = a.line, e.fillRect(0, Math.round(u), r.width, 1);
	for (let t of n) {
		let n = K_(t, r);
		if (n.length) {
			e.fillStyle = a.curve, e.globalAlpha = .28, q_(e, n, () => u, (e) => f(e.mean)), q_(e, n, (e) => f(e.low), (e) => f(e.high)), e.globalAlpha = 1, e.strokeStyle = a.curve, e.lineWidth = 1.25, e.beginPath();
			for (let t of n) e.lineTo(t.x, f(t.mean)), e.lineTo(t.until, f(t.mean));
			e.stroke();
		}
	}
}
function K_({ from: e, to: t, chunk: n }, r) {
	let { x: i, low: a, mean: o, high: s } = n.data, c = 1 / eg(r), l = (e - r.from) * c, u = (t - r.from) * c, d = [];
	for (let t = Math.max(0, Y_(i, e)); t < i.length; t++) {
		let e = (i[t] - r.from) * c;
		if (e >= u) break;
		let n = t + 1 < i.length ? (i[t + 1] - r.from) * c : u;
		n < l || d.push({
			x: Math.max(e, l),
			until: Math.min(n, u),
			low: a[t],
			mean: o[t],
			high: s[t]
		});
	}
	return d;
}
function q_(e, t, n, r) {
	e.beginPath();
	for (let n of t) e.lineTo(n.x, r(n)), e.lineTo(n.until, r(n));
	for (let r = t.length - 1; r >= 0; r--) e.lineTo(t[r].until, n(t[r])), e.lineTo(t[r].x, n(t[r]));
	e.fill();
}
function J_(e, t) {
	for (let { from: n, to: r, chunk: i } of e) {
		if (t < n || t > r) continue;
		let { x: e, low: a, mean: o, high: s } = i.data, c = Y_(e, t);
		if (c >= 0) return {
			x: 0,
			until: 0,
			low: a[c],
			mean: o[c],
			high: s[c]
		};
	}
	return null;
}
function Y_(e, t) {
	let n = 0, r = e.length;
	for (; n < r;) {
		let i = n + r >> 1;
		e[i] <= t ? n = i + 1 : r = i;
	}
	return n - 1;
}
// src/trace/paint.ts
var X_ = 12;
function Z_(e, t, n) {
	let { view: r, height: i, top: a, layout: o, theme: s, names: c } = n;
	e.fillStyle = s.ground, e.fillRect(0, 0, r.width, i), Q_(e, n), t.begin(r.width, i, n.ratio, s.palette.fills);
	for (let l of Ph(o, a, a + i)) l.type !== "group" && (jh(l.track) ? G_(e, l, n.curvesOf(l.track.id), r, a, s) : t.track(l, n.slicesOf(l.track.id), c, r, a, a + i));
	t.draw(e, s, c), $_(e, n), ev(e, n), tv(e, n), n.hovered && rv(e, n, n.hovered, 1), n.selected && rv(e, n, n.selected, 2);
}
function Q_(e, t) {
	let { view: n, height: r, theme: i, length: a } = t, o = Qh(n, 0), s = Qh(n, a);
	e.fillStyle = i.sunken, o > 0 && e.fillRect(0, 0, o, r), s < n.width && e.fillRect(s, 0, n.width - s, r), e.fillStyle = i.line;
	let c = -12;
	for (let i of t.steps) {
		let t = Math.round(Qh(n, i.from_ns));
		t < 0 || t > n.width || t - c < X_ || (e.fillRect(t, 0, 1, r), c = t);
	}
}
function $_(e, { view: t, height: n, top: r, layout: i, theme: a }) {
	for (let o of Ph(i, r, r + n)) o.type !== "track" && (e.fillStyle = a.raised, e.fillRect(0, o.y - r, t.width, o.height), e.fillStyle = a.line, e.fillRect(0, o.y - r, t.width, 1));
}
function ev(e, { view: t, height: n, range: r, theme: i }) {
	if (!r) return;
	let a = Qh(t, r[0]), o = Qh(t, r[1]);
	e.fillStyle = i.accent, e.globalAlpha = .12, e.fillRect(a, 0, o - a, n), e.globalAlpha = 1, e.fillRect(Math.round(a), 0, 1, n), e.fillRect(Math.round(o) - 1, 0, 1, n);
}
function tv(e, t) {
	let { view: n, theme: r, layout: i, top: a, height: o } = t;
	e.strokeStyle = r.text, e.fillStyle = r.text;
	let s = Math.min(.35, Math.max(.08, 20 / t.arrows.length));
	for (let { from: r, to: c, strong: l } of t.arrows) {
		let t = i.byTrack.get(r.track), u = i.byTrack.get(c.track);
		if (!t || !u) continue;
		let d = Qh(n, Math.min(r.from_ns + r.dur_ns, Math.max(r.from_ns, c.from_ns))), f = Qh(n, c.from_ns), p = Lh(t, r.row) - a + 9, m = Lh(u, c.row) - a + 9;
		Math.max(d, f) < 0 || Math.min(d, f) > n.width || Math.max(p, m) < 0 || Math.min(p, m) > o || (e.globalAlpha = l ? .9 : s, e.lineWidth = l ? 1.5 : 1, nv(e, d, p, f, m));
	}
	e.globalAlpha = 1;
}
function nv(e, t, n, r, i) {
	let a = Math.min(Math.max(Math.abs(r - t) / 2, 16), 120);
	e.beginPath(), e.moveTo(t, n), e.bezierCurveTo(t + a, n, r - a, i, r - 2, i), e.stroke(), e.beginPath(), e.moveTo(r, i), e.lineTo(r - 6, i - 3.5), e.lineTo(r - 6, i + 3.5), e.fill();
}
function rv(e, t, n, r) {
	let i = t.layout.byTrack.get(n.track);
	if (!i || n.row >= i.rows) return;
	let { x: a, y: o, width: s, height: c } = iv(t, i, n);
	e.strokeStyle = t.theme.text, e.lineWidth = r, e.strokeRect(a, o, s, c);
}
function iv({ view: e, top: t }, n, r) {
	let i = Math.max(Math.round(Qh(e, r.from_ns)), -8), a = Math.min(Math.round(Qh(e, r.from_ns + r.dur_ns)), e.width + 8);
	return {
		x: i,
		y: Lh(n, r.row) - t + 1,
		width: Math.max(a - i, 2),
		height: 16
	};
}
// src/trace/strips.ts
var av = 22, ov = .25, sv = class {
	width = 0;
	pixels = /* @__PURE__ */ new Uint32Array();
	tops = [];
	labels = [];
	ratio = 1;
	slices = 0;
	colours = /* @__PURE__ */ new Uint32Array();
	most = 0;
	begin(e, t, n, r) {
		let i = Math.max(1, Math.round(e * n));
		this.most = Math.ceil(t / 18) + 2, this.width !== i || this.pixels.length < i * this.most ? this.pixels = new Uint32Array(i * this.most) : this.pixels.fill(0, 0, this.tops.length * i), this.width = i, this.ratio = n, this.colours = cv(r), this.tops = [], this.labels = [], this.slices = 0;
	}
	track(e, t, n, r, i, a) {
		let o = Math.max(0, Math.floor((i - e.y) / 18)), s = Math.min(e.rows - 1, Math.floor((a - e.y) / 18));
		for (let a = o; a <= s && this.tops.length < this.most; a++) {
			let o = Lh(e, a) - i + 1, s = this.tops.length * this.width;
			this.tops.push(o);
			let c = 0;
			for (let i of t) a >= Gh(i.chunk.data) || (c = this.row(e.track.kind, a, o, s, c, i, n, r));
		}
	}
	row(e, t, n, r, i, a, o, s) {
		let { pixels: c, colours: l, ratio: u } = this, { data: d } = a.chunk, { start: f, dur: p, name: m, count: h, busy: g } = d.slices, _ = o.colours(e), v = u / eg(s), y = Math.max(0, Math.round((a.from - s.from) * v)), b = Math.min(this.width, Math.round((a.to - s.from) * v)), x = d.begin[t + 1], S = Math.max(i, y);
		for (let i = Kh(d, t, a.from); i < x; i++) {
			let t = (f[i] - s.from) * v;
			if (t >= b) break;
			this.slices++;
			let a = Math.round(t), d = Math.min(Math.max(Math.round(t + p[i] * v), a + 1), b), y = Math.max(a, S), x = d - y;
			if (x < 1) continue;
			S = d;
			let C = m[i], w = _[C], T = w === 255 ? o.colour(e, C) : w, E = l[T];
			h[i] > 1 && (E = lv(E, g[i] / (p[i] || 1))), x === 1 ? c[r + y] = E : (c.fill(E, r + y, r + (x > 3 && d < b ? d - 1 : d)), x >= av * u && T !== h_ && this.label(y / u, n, x / u, C, h[i], f[i]));
		}
		return S;
	}
	label(e, t, n, r, i, a) {
		let o = this.labels.at(-1);
		o?.start === a && o.y === t ? o.room = e + n - o.x - 8 : this.labels.push({
			x: e,
			y: t,
			room: n - 8,
			code: r,
			count: i,
			start: a
		});
	}
};
function cv(e) {
	let t = e.flatMap((e) => {
		let t = Number.parseInt(e.slice(1), 16);
		return [
			t >> 16,
			t >> 8 & 255,
			t & 255,
			255
		];
	});
	return new Uint32Array(Uint8Array.from(t).buffer);
}
function lv(e, t) {
	let n = Math.round(255 * Math.min(1, ov + .75 * t));
	return (e & 16777215 | n << 24) >>> 0;
}
// src/trace/paintSlices.ts
var uv = 16, dv = class extends sv {
	strip = document.createElement("canvas");
	draw(e, t, n) {
		if (!this.tops.length) return;
		let { width: r, tops: i, strip: a } = this, o = this.pixels.length / r;
		a.width !== r && (a.width = r), a.height !== o && (a.height = o);
		let s = new ImageData(new Uint8ClampedArray(this.pixels.buffer), r);
		a.getContext("2d", { willReadFrequently: !0 }).putImageData(s, 0, 0, 0, 0, r, i.length), e.imageSmoothingEnabled = !1;
		for (let [t, n] of i.entries()) e.drawImage(a, 0, t, r, 1, 0, n, r / this.ratio, uv);
		e.font = `11px ${t.font}`, e.textBaseline = "middle", e.textAlign = "left", e.fillStyle = t.palette.text;
		let c = (t) => e.measureText(t).width;
		for (let t of this.labels) {
			let r = fv(t, n, c);
			r && e.fillText(r, t.x + 4, t.y + uv / 2 + .5);
		}
	}
};
function fv(e, t, n) {
	let r = e.count > 1 ? `${e.count} × ` : "", i = e.room - (r ? t.width(r, n) : 0), a = t.cut(e.code, i, n);
	return a && r + a;
}
// src/trace/theme.ts
function pv() {
	let e = getComputedStyle(document.documentElement), t = (t) => e.getPropertyValue(t).trim(), n = t("--ground"), r = Number.parseInt(n.slice(1, 3), 16) < 128;
	return {
		dark: r,
		ground: n,
		raised: t("--raised"),
		sunken: t("--sunken"),
		line: t("--line"),
		text: t("--text"),
		quiet: t("--quiet"),
		accent: t("--accent"),
		curve: t("--part-3"),
		font: t("--sans"),
		palette: y_(r)
	};
}
// src/trace/engine.ts
var mv = 55, hv = 250, gv = 300, _v = class {
	timeline;
	layout;
	events;
	names = new H_();
	loader;
	view = {
		from: 0,
		to: 1,
		width: 1
	};
	top = 0;
	height = 0;
	selected = null;
	hovered = null;
	arrows = [];
	range = null;
	cursor = null;
	onMoved = () => {};
	goal = null;
	theme = pv();
	painter = new dv();
	bands;
	canvases = null;
	shown = {
		view: this.view,
		top: 0
	};
	frame = 0;
	last = 0;
	rest = null;
	constructor(e, t, n, r) {
		this.timeline = t, this.layout = n, this.events = r, this.view = tg(t.length_ns, 1e3), this.bands = U_(t.tracks), this.loader = new R_(e, t.length_ns, this.names, {
			onData: () => this.redraw(),
			onLoading: r.onLoading,
			onError: r.onError
		});
	}
	attach(e) {
		this.canvases = e, e ? this.redraw() : this.stop();
	}
	stop() {
		cancelAnimationFrame(this.frame), this.frame = 0, this.rest && clearTimeout(this.rest), this.loader.stop();
	}
	resize(e, t) {
		this.height = t, this.view = {
			...this.view,
			width: Math.max(1, e)
		}, this.goal &&= {
			...this.goal,
			width: this.view.width
		}, this.loader.overview = {
			view: this.whole,
			tracks: this.bands
		}, this.redraw();
	}
	arrange(e) {
		this.layout = e, this.redraw();
	}
	restyle() {
		this.theme = pv(), this.redraw();
	}
	show(e) {
		this.goal = null, this.view = ng(e, this.timeline.length_ns), this.redraw();
	}
	glide(e) {
		this.goal = ng(e, this.timeline.length_ns), matchMedia("(prefers-reduced-motion: reduce)").matches && this.show(this.goal), this.redraw();
	}
	get aim() {
		return this.goal ?? this.view;
	}
	redraw() {
		!this.frame && this.canvases && (this.frame = requestAnimationFrame((e) => {
			this.frame = 0, this.step(e);
		}));
	}
	step(e) {
		if (this.goal) {
			let t = 1 - Math.exp(-Math.min(e - this.last, 50) / mv), n = Math.abs(this.goal.from - this.view.from) < eg(this.goal) / 2, r = Math.abs(this.goal.to - this.goal.from - (this.view.to - this.view.from)) < eg(this.goal);
			this.view = n && r ? this.goal : sg(this.view, this.goal, t), n && r ? this.goal = null : this.redraw();
		}
		this.last = e, (this.view !== this.shown.view || this.top !== this.shown.top) && this.moved(), this.loader.want(this.view, this.askedTracks()), this.draw();
	}
	moved() {
		this.shown = {
			view: this.view,
			top: this.top
		}, this.onMoved(), this.rest && clearTimeout(this.rest), this.rest = setTimeout(() => this.events.onRest(this.view), hv);
	}
	askedTracks() {
		let e = this.top - gv;
		return Ph(this.layout, e, this.top + this.height + gv).flatMap((e) => e.type === "track" ? [e.track] : []);
	}
	draw() {
		let { canvases: e, view: t, theme: n, timeline: r, range: i } = this;
		if (!e) return;
		let a = performance.now(), { steps: o, length_ns: s } = r;
		Z_(T_(e.main, t.width, this.height), this.painter, {
			view: t,
			theme: n,
			steps: o,
			length: s,
			range: i,
			ratio: devicePixelRatio || 1,
			height: this.height,
			top: this.top,
			layout: this.layout,
			names: this.names,
			selected: this.selected,
			hovered: this.hovered,
			arrows: this.arrows,
			slicesOf: (e) => this.slicesOf(e),
			curvesOf: (e) => this.curvesOf(e)
		}), e.main.dataset.slices = String(this.painter.slices), e.main.dataset.ms = (performance.now() - a).toFixed(2), cg(T_(e.ruler, t.width, e.ruler.clientHeight), t, o, i, this.cursor, n);
		let c = this.whole, l = j_(eg(c)), u = this.bands.map((e) => ({
			colour: n.palette.fills[__(e.kind)],
			pieces: this.loader.slices.pieces(e.id, l, {
				from: 0,
				to: s
			})
		}));
		ug(T_(e.overview, t.width, e.overview.clientHeight), c, t, u, i, n);
	}
	get whole() {
		return {
			from: 0,
			to: Math.max(1, this.timeline.length_ns),
			width: this.view.width
		};
	}
	slicesOf(e) {
		return this.loader.slices.pieces(e, j_(eg(this.view)), this.view);
	}
	curvesOf(e) {
		return this.loader.curves.pieces(e, j_(eg(this.view)), this.view);
	}
	hit(e, t) {
		let n = this.view.from + e * eg(this.view), r = 3 * eg(this.view);
		return O_(this.layout, t + this.top, n, r, (e) => this.slicesOf(e));
	}
	valueAt(e, t) {
		return J_(this.curvesOf(e), this.view.from + t * eg(this.view));
	}
	firstSpot() {
		for (let e of Ph(this.layout, this.top, this.top + this.height)) {
			if (e.type !== "track" || jh(e.track)) continue;
			let t = {
				row: 0,
				from_ns: this.view.from - 1,
				dur_ns: 0
			}, n = k_(this.slicesOf(e.track.id), t, 1);
			if (n) return n;
		}
		return null;
	}
	towards(e, t) {
		let { loader: n, view: r } = this, i = {
			from: r.from - (r.to - r.from),
			to: r.to + (r.to - r.from)
		}, a = n.slices.pieces(e.track, j_(eg(r)), i);
		if (t === "next") return k_(a, e, 1);
		if (t === "previous") return k_(a, e, -1);
		if (t === "outer") return D_(a, e.row - 1, e.from_ns, eg(r));
		let o = k_(a, {
			row: e.row + 1,
			from_ns: e.from_ns - 1,
			dur_ns: 1
		}, 1);
		return o && o.from_ns < e.from_ns + e.dur_ns ? o : null;
	}
	scrollFor(e) {
		let t = this.layout.byTrack.get(e.track);
		if (!t || jh(t.track)) return null;
		let n = Lh(t, e.row);
		return n >= this.top && n + 24 <= this.top + this.height ? null : Math.max(0, n - this.height / 2);
	}
};
// src/trace/useEngine.ts
function vv(e, t, n, r, i) {
	let [a, o] = z(!1), [s, c] = z(null), [l, u] = z(null), d = V({}), f = V(i);
	f.current = i;
	let p = Ae(() => new _v(e, t, n, {
		onLoading: o,
		onError: c,
		onRest: (e) => {
			u([e.from, e.to]);
			let n = yv(e, t.length_ns);
			(n.from !== d.current.from || n.to !== d.current.to) && (d.current = n, f.current(n, "replace"));
		}
	}), [e, t]);
	return B(() => fe(() => p.restyle()), [p]), B(() => p.arrange(n), [p, n]), B(() => {
		let { from: e, to: n } = r;
		if (e === d.current.from && n === d.current.to) return;
		let i = p.height === 0;
		d.current = {
			from: e,
			to: n
		};
		let { width: a } = p.view, o = e !== void 0 && n !== void 0 ? {
			from: e,
			to: n,
			width: a
		} : tg(t.length_ns, a);
		i ? p.show(o) : p.glide(o);
	}, [
		p,
		r.from,
		r.to
	]), {
		engine: p,
		loading: a,
		error: s,
		rested: l
	};
}
function yv(e, t) {
	let n = tg(t, e.width), r = (n.to - n.from) / n.width;
	return Math.abs(e.from - n.from) < r && Math.abs(e.to - n.to) < r ? {
		from: void 0,
		to: void 0
	} : {
		from: Math.max(0, Math.round(e.from)),
		to: Math.round(e.to)
	};
}
// src/trace/useSearch.ts
function bv(e, t, n, r) {
	let [i, a] = z(-1), o = Qg(n ? (t) => e.search(n, t) : null, [e, n]), s = V(null);
	B(() => a(-1), [n]), B(() => {
		t.names.search(n), t.redraw();
	}, [t, n]);
	let c = (e, n = o.loading) => {
		let c = o.value?.hits ?? [];
		if (s.current = n ? e : null, !c.length || n) return;
		let l = ((i < 0 ? xv(c, t.view.from, e) : i + e) + c.length) % c.length;
		a(l), r(c[l]);
	};
	return B(() => {
		s.current && !o.loading && c(s.current);
	}, [o.loading]), {
		found: o,
		hit: i,
		step: c
	};
}
function xv(e, t, n) {
	let r = e.findIndex((e) => e.from_ns >= t), i = Math.max(0, r);
	return n === 1 ? i : i - 1;
}
// src/trace/Stage.tsx
var Sv = 1.5;
function Cv(e) {
	let { api: t, timeline: n, state: r, hrefOf: i } = e, a = o_(e.onState), o = r.collapsed ?? [], s = Ae(() => new Set(o), [o.join("|")]), c = Ae(() => Mh(n.tracks, s), [n, s]), { engine: l, loading: u, error: d, rested: f } = vv(t, n, c, r, a), [p, m] = z("slice"), [h, g] = z(!1), [_, v] = z(!1), y = V(null), b = V(null), x = Ae(() => new Map(n.tracks.map((e) => [e.id, e])), [n]), S = _ && f ? f : null, C = Qg(S && ((e) => t.flows(S, [], e)), [t, S]), w = V(null), T = (e) => {
		let t = x.get(e.track)?.group;
		w.current = t && s.has(t) ? e : null, t && w.current && k(t);
		let n = l.scrollFor(e);
		n !== null && y.current?.scrollTo({ top: n });
	};
	B(() => {
		w.current && T(w.current);
	}, [c]);
	let [E] = z(r.from !== void 0), D = s_({
		api: t,
		engine: l,
		placed: E,
		onState: a,
		scrollTo: T
	}, r.select, C.value), O = bv(t, l, r.q ?? "", (e) => {
		D.jump(e, "replace"), m("slice");
	}), k = (e) => {
		let t = s.has(e) ? o.filter((t) => t !== e) : [...o, e];
		a({ collapsed: t.length ? t : void 0 }, "replace");
	}, A = (e) => {
		a({ q: e || void 0 }, "replace"), m("search");
	}, j = (e) => {
		a({ range: e ? [e[0], e[1]] : void 0 }, "push"), m("range");
	};
	B(() => {
		l.range = r.range ?? null, l.redraw();
	}, [l, r.range?.join()]);
	let M = () => {
		r.range ? a({ range: void 0 }, "push") : D.spot ? D.pick(null) : r.q && A("");
	}, ee = (e) => {
		let { spot: t } = D, { aim: r, view: i } = l, a = t ? Qh(i, t.from_ns + t.dur_ns / 2) : -1, o = a >= 0 && a <= i.width ? a : i.width / 2;
		l.glide(rg(r, l.cursor ?? o, e, n.length_ns));
	}, te = (e) => {
		let t = D.spot ? l.towards(D.spot, e) : l.firstSpot();
		t && (D.walk(t), m("slice"));
	}, ne = {
		"zoom in": () => ee(Sv),
		"zoom out": () => ee(1 / Sv),
		left: () => l.glide(ig(l.aim, -l.view.width / 6, n.length_ns)),
		right: () => l.glide(ig(l.aim, l.view.width / 6, n.length_ns)),
		up: () => y.current?.scrollBy({ top: -l.height * .8 }),
		down: () => y.current?.scrollBy({ top: l.height * .8 }),
		fit: () => l.glide(tg(n.length_ns, l.view.width)),
		focus: D.focus,
		range: () => {
			let { spot: e } = D;
			e && j([e.from_ns, e.from_ns + e.dur_ns]);
		},
		search: () => b.current?.select(),
		"next hit": () => O.step(1),
		"previous hit": () => O.step(-1),
		next: () => te("next"),
		previous: () => te("previous"),
		outer: () => te("outer"),
		inner: () => te("inner"),
		flows: () => v(!_),
		clear: M,
		help: () => g(!h)
	};
	Tv((e) => ne[e](), h);
	let { spot: re, merged: ie, details: N } = D, P = [];
	if (ie || r.select !== void 0) {
		let e = ie ? /* @__PURE__ */ H(Wg, {
			slice: ie,
			name: l.names.text(ie.code),
			onZoom: D.focus
		}) : /* @__PURE__ */ H(Vg, {
			details: N,
			hrefOf: i,
			onJump: D.jump
		});
		P.push({
			id: "slice",
			title: "Slice",
			content: e,
			onClose: () => D.pick(null)
		});
	}
	if (r.range) {
		let e = `Range of ${J("time_ns", r.range[1] - r.range[0])}`, n = /* @__PURE__ */ H($g, {
			api: t,
			hrefOf: i,
			range: r.range,
			tracks: wv(l)
		});
		P.push({
			id: "range",
			title: e,
			content: n,
			onClose: M
		});
	}
	if (r.q) {
		let e = /* @__PURE__ */ H(Gg, {
			found: O.found,
			q: r.q,
			onSearch: A
		});
		P.push({
			id: "search",
			title: "Search",
			content: e,
			onClose: () => A("")
		});
	}
	return /* @__PURE__ */ H("div", {
		class: "trace",
		children: [
			/* @__PURE__ */ H(i_, {
				api: t,
				loading: u,
				search: O,
				searchBox: b,
				onSearch: A,
				q: r.q ?? "",
				flows: _ ? C : null,
				range: r.range ?? null,
				run: (e) => ne[e]()
			}),
			d && /* @__PURE__ */ H(Rg, {
				error: d,
				onAgain: () => l.redraw()
			}),
			/* @__PURE__ */ H(wg, {
				engine: l,
				layout: c,
				scroller: y,
				onToggle: k,
				onPick: (e) => {
					D.pick(e), m("slice");
				},
				onRange: j
			}),
			/* @__PURE__ */ H("div", {
				class: "visually-hidden",
				"aria-live": "polite",
				children: re && N.value ? `${N.value.name}, ${J("time_ns", re.dur_ns)}, ${x.get(re.track)?.name}` : ""
			}),
			/* @__PURE__ */ H(Xg, {
				tabs: P,
				open: p,
				onOpen: m
			}),
			h && /* @__PURE__ */ H(Yg, { onClose: () => g(!1) })
		]
	});
}
function wv({ layout: e, timeline: t }) {
	let n = [...e.byTrack.keys()];
	return n.length === t.tracks.length ? [] : n;
}
function Tv(e, t) {
	let n = V(e);
	n.current = e, B(() => {
		let e = (e) => {
			let r = e.target;
			if (t || e.defaultPrevented || r.matches("input, textarea, select")) return;
			let i = Jg(e), a = e.key.startsWith("Arrow") || e.key.startsWith("Page");
			!i || a && r.closest(".trace-panel") || (e.preventDefault(), n.current(i));
		};
		return document.addEventListener("keydown", e), () => document.removeEventListener("keydown", e);
	}, [t]);
}
// src/trace/state.ts
function Ev(e) {
	let t = {}, n = jv(e.from), r = jv(e.to);
	n !== null && r !== null && r > n && Object.assign(t, {
		from: n,
		to: r
	});
	let i = jv(e.select);
	i !== null && i >= 0 && (t.select = i), e.q && (t.q = e.q);
	let [a, o] = (e.range ?? "").split("-").map(jv);
	a != null && o != null && o > a && (t.range = [a, o]);
	let s = (e.collapsed ?? "").split("|").filter(Boolean);
	return s.length && (t.collapsed = s.map(decodeURIComponent)), t;
}
function Dv(e) {
	let t = {};
	for (let [n, r] of Object.entries(e)) t[n] = Ov(r);
	return t;
}
function Ov(e) {
	return e === void 0 ? "" : Array.isArray(e) ? e.map((e) => typeof e == "number" ? kv(e) : Av(e)).join(typeof e[0] == "number" ? "-" : "|") : typeof e == "number" ? kv(e) : e;
}
function kv(e) {
	return String(Math.max(0, Math.round(e)));
}
function Av(e) {
	return e.replace(/[%|]/g, encodeURIComponent);
}
function jv(e) {
	return e && Number.isFinite(Number(e)) ? Number(e) : null;
}
// src/trace/TraceView.tsx
function Mv(e) {
	let [t, n] = z(0), { api: r } = e, i = Qg((e) => r.tracks(e), [r, t]);
	return i.error ? /* @__PURE__ */ H(Rg, {
		error: i.error,
		onAgain: () => n(t + 1)
	}) : i.value ? i.value.tracks.length ? /* @__PURE__ */ H(Cv, {
		...e,
		timeline: i.value
	}) : /* @__PURE__ */ H("p", {
		class: "trace-waiting",
		children: "This recording has no events, so there is no timeline."
	}) : /* @__PURE__ */ H(zg, { progress: i.progress });
}
// src/app/pages/TracePage.tsx
function Nv({ of: e }) {
	let { base: t } = rt(), { run: n, worker: r, span: i, version: a, route: o } = e, s = [
		n.name,
		r,
		i,
		a
	].join("\n"), c = Ae(() => Ng(t, {
		run: n.name,
		worker: r,
		span: i
	}), [t, s]);
	return /* @__PURE__ */ H("div", {
		class: "trace-page",
		children: [/* @__PURE__ */ H("h1", {
			class: "visually-hidden",
			children: ["Trace of ", n.name]
		}), /* @__PURE__ */ H(Mv, {
			api: c,
			state: Ev(o.query),
			onState: (e, t) => Dt({
				...o,
				query: vt(o.query, Dv(e))
			}, t),
			hrefOf: (e, t) => _t(n.name, e, o.query, {
				[`find.${e}`]: t,
				...e !== "modules" && { open: t }
			})
		}, s)]
	});
}
// src/app/pages/RunPage.tsx
var Pv = {
	overview: Oh,
	operators: Th,
	kernels: fh,
	memory: eh,
	modules: eh,
	distributed: eh,
	trace: Nv
};
function Fv({ route: e }) {
	let { listing: t } = rt();
	if (!t) return null;
	let n = t.runs.find(({ name: t }) => t === e.run);
	if (!n) return /* @__PURE__ */ H(Fm, { name: e.run });
	if (!n.timeline && !(e.page === "kernels" && n.counters.length > 0)) return /* @__PURE__ */ H(Lv, { run: n });
	let { worker: r, span: i } = At(n, e.query);
	return /* @__PURE__ */ H(Iv, {
		run: n,
		route: e,
		worker: r,
		span: i
	}, [
		n.name,
		e.page,
		r,
		i
	].join("\n"));
}
function Iv(e) {
	let t = Nt(e.run), [n, r] = z(t), i = Pv[e.route.page];
	return /* @__PURE__ */ H(b, { children: [n !== t && /* @__PURE__ */ H(mm, { onShow: () => r(t) }), /* @__PURE__ */ H(i, { of: {
		...e,
		version: n
	} })] });
}
function Lv({ run: e }) {
	return /* @__PURE__ */ H("div", {
		class: "message",
		children: [
			/* @__PURE__ */ H("h1", { children: [e.name, " has no timeline"] }),
			/* @__PURE__ */ H("p", { children: e.growing ? "It is being recorded; what it holds is shown as soon as it is written." : "It holds no trace that this page could show." }),
			/* @__PURE__ */ H("p", {
				class: "next",
				children: [
					e.behaviour && /* @__PURE__ */ H("a", {
						class: "button primary",
						href: gt({
							at: "compare",
							query: { new: e.name }
						}),
						children: "Compare it with another run"
					}),
					e.counters.length > 0 && /* @__PURE__ */ H("a", {
						class: "button",
						href: gt({
							at: "run",
							run: e.name,
							page: "kernels",
							query: {}
						}),
						children: "Its counters"
					}),
					/* @__PURE__ */ H("a", {
						href: "#/",
						children: "All runs"
					})
				]
			})
		]
	});
}
// src/app/routing/title.ts
function Rv(e) {
	switch (e.at) {
		case "home": return "Runs · timesink";
		case "run": return `${kt(e.page)} · ${e.run} · timesink`;
		case "compare": {
			let { base: t, new: n } = e.query;
			return t && n ? `${t} → ${n} · timesink` : "Compare · timesink";
		}
		case "unknown": return "No such page · timesink";
	}
}
// src/app/runs/useRuns.ts
var zv = 2e3;
function Bv(e) {
	let [t, n] = z({
		listing: void 0,
		error: null,
		contact: 0
	}), [r, i] = Oe((e, t) => e + 1, 0);
	return B(() => {
		let t, r = null;
		async function i() {
			clearTimeout(t), r?.abort();
			let a = new AbortController();
			r = a;
			try {
				let t = await e.json("runs", {}, { signal: a.signal });
				a.signal.aborted || n((e) => Vv(e, t));
			} catch (e) {
				if (a.signal.aborted) return;
				n((t) => ({
					...t,
					error: Ye(e)
				}));
			}
			!document.hidden && !a.signal.aborted && (t = setTimeout(i, zv));
		}
		let a = () => document.hidden ? clearTimeout(t) : void i();
		return i(), document.addEventListener("visibilitychange", a), () => {
			document.removeEventListener("visibilitychange", a), clearTimeout(t), r?.abort();
		};
	}, [e, r]), {
		...t,
		retry: () => i(null)
	};
}
function Vv(e, t) {
	let n = e.listing?.generation === t.generation;
	return n && !e.error ? e : {
		listing: n ? e.listing : t,
		error: null,
		contact: e.contact + +!!e.error
	};
}
// src/app/App.tsx
function Hv({ base: e }) {
	let t = Ae(() => qe(e), [e]), n = Ae(() => new He(), []), r = Ot(), { listing: i, error: a, contact: o, retry: s } = Bv(t), [c, l] = z(!1), u = V(null), d = r.at === "run" && r.page === "trace";
	return it(u, yt(r)), nn(je(() => l(!0), []), d), B(() => {
		document.title = Rv(r);
	}), /* @__PURE__ */ H(nt, {
		value: {
			base: e,
			client: t,
			cache: n,
			route: r,
			listing: i,
			contact: o
		},
		children: /* @__PURE__ */ H("div", {
			class: `app ${d ? "fills" : ""}`,
			children: [
				/* @__PURE__ */ H("button", {
					type: "button",
					class: "skip button",
					onClick: () => u.current?.focus(),
					children: "Skip to the content"
				}),
				/* @__PURE__ */ H(qt, { onHelp: () => l(!0) }),
				a && i && /* @__PURE__ */ H("p", {
					class: "notice-bar lost",
					role: "alert",
					children: [
						a.message,
						" ",
						a.hint
					]
				}),
				/* @__PURE__ */ H("main", {
					ref: u,
					tabIndex: -1,
					children: [
						i && /* @__PURE__ */ H(Uv, { route: r }),
						!i && !a && /* @__PURE__ */ H(an, {
							progress: null,
							what: "the list of runs"
						}),
						!i && a && /* @__PURE__ */ H(on, {
							error: a,
							onRetry: s
						})
					]
				}),
				/* @__PURE__ */ H(en, {
					open: c,
					onClose: () => l(!1)
				})
			]
		})
	});
}
function Uv({ route: e }) {
	switch (e.at) {
		case "home": return /* @__PURE__ */ H(qm, {});
		case "compare": return /* @__PURE__ */ H(Im, {});
		case "run": return /* @__PURE__ */ H(Fv, { route: e });
		case "unknown": return /* @__PURE__ */ H(Pm, { path: e.path });
	}
}
// src/app/main.tsx
var Wv = "timesink-app", Gv = import.meta.url, Kv = new URL("..", Gv);
async function qv() {
	document.querySelector("base")?.remove(), ue(ce()), de(), Yv(), F(/* @__PURE__ */ H(Hv, { base: Kv }), Jv());
}
function Jv() {
	let e = document.getElementById(Wv);
	if (e?.replaceChildren(), e) return e;
	let t = document.createElement("div");
	return t.id = Wv, document.body.append(t), t;
}
function Yv() {
	let e = new URL("static/app.css", Kv).href;
	if ([...document.querySelectorAll("link[rel=stylesheet]")].some((t) => t.href === e)) return;
	let t = document.createElement("link");
	Object.assign(t, {
		rel: "stylesheet",
		href: e
	}), document.head.append(t);
}
document.getElementById(Wv) && qv();
export { qv as render };
