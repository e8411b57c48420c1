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
var me, L, he, ge, _e = Object.is, ve = 0, ye = [], be = [], xe = e, R = xe.__b, z = xe.__r, Se = xe.diffed, Ce = xe.__c, we = xe.unmount, Te = xe.__;
function Ee(e, t) {
	xe.__h && xe.__h(L, e, ve || t), ve = 0;
	var n = L.__H || (L.__H = {
		__: [],
		__h: []
	});
	return e >= n.__.length && n.__.push({}), n.__[e];
}
function B(e) {
	return ve = 1, De(Be, e);
}
function De(e, t, n) {
	var r = Ee(me++, 2);
	if (r.t = e, !r.__c && (r.__ = [n ? n(t) : Be(void 0, t), function(e) {
		var t = (r.__N || r.__)[0], n = r.t(t, e);
		_e(t, n) || (r.__N = [n, r.__[1]], r.__c.setState({}));
	}], r.__c = L, !L.__f)) {
		L.__f = !0;
		var i = L.shouldComponentUpdate;
		L.shouldComponentUpdate = function(e, t, n) {
			var r = this.__H;
			if (!r) return !0;
			var a = !1, o = this.props != e;
			if (r.__.some(function(e) {
				e.__N && (a = !0, _e(e.__[0], e.__N[0]) || (o = !0));
			}), i) {
				var s = i.call(this, e, t, n);
				return a ? s || o : s;
			}
			return !a || o;
		};
	}
	return r.__;
}
function V(e, t) {
	var n = Ee(me++, 3);
	!xe.__s && ze(n.__H, t) && (n.__P = !0, n.__ = e, n.u = t, L.__H.__h.push(n));
}
function Oe(e, t) {
	var n = Ee(me++, 4);
	!xe.__s && ze(n.__H, t) && (n.__P = !1, n.__ = e, n.u = t, L.__h.push(n));
}
function H(e) {
	return ve = 5, ke(function() {
		return { current: e };
	}, []);
}
function ke(e, t) {
	var n = Ee(me++, 7);
	return ze(n.__H, t) && (n.__ = e(), n.__H = t), n.__;
}
function Ae(e, t) {
	return ve = 8, ke(function() {
		return e;
	}, t);
}
function je(e) {
	var t = L.context[e.__c], n = Ee(me++, 9);
	return n.c = e, t ? (n.__ ?? (n.__ = !0, t.sub(L)), t.props.value) : e.__;
}
function Me() {
	var e = Ee(me++, 11);
	if (!e.__) {
		for (var t = L.__v; !t.__m && t.__;) t = t.__;
		var n = t.__m || (t.__m = [0, 0]);
		e.__ = "P" + n[0] + "-" + n[1]++;
	}
	return e.__;
}
function Ne() {
	var e;
	do {
		for (; e = be.shift();) try {
			Le(e);
		} catch (t) {
			xe.__e(t, { __: (e = e.__P) && e.__v });
		}
		for (; e = ye.shift();) {
			var t = e.__H;
			if (e.__P && t) try {
				t.__h.some(Le), t.__h.some(Re), t.__h = [];
			} catch (n) {
				t.__h = [], xe.__e(n, e.__v);
			}
		}
	} while (be.length);
}
xe.__b = function(e) {
	L = null, R && R(e);
}, xe.__ = function(e, t) {
	e && t.__k && t.__k.__m && (e.__m = t.__k.__m), Te && Te(e, t);
}, xe.__r = function(e) {
	z && z(e), me = 0;
	var t = (L = e.__c).__H;
	t && (he == L ? L.__h = [] : (t.__h.some(Le), t.__h.some(Re), me = 0), t.__h = [], t.__.some(function(e) {
		e.__N && (e.__ = e.__N), e.u = e.__N = void 0;
	})), he = L;
}, xe.diffed = function(e) {
	Se && Se(e);
	var t = e.__c;
	t && t.__H && (t.__H.__h.length && Ie(ye.push(t)), t.__H.__.some(function(e) {
		e.u && (e.__H = e.u);
	})), he = L = null;
}, xe.__c = function(e, t) {
	t.some(function(e) {
		try {
			e.__h.some(Le), e.__h = e.__h.filter(function(e) {
				return !e.__ || Re(e);
			});
		} catch (t) {
			e.__h = [function() {
				throw t;
			}];
		}
	}), Ce && Ce(e, t);
}, xe.unmount = function(e) {
	we && we(e);
	var t, n, r = e.__c;
	r && r.__H && (r.__H.__.some(function(r) {
		try {
			if (r.__P && r.__c) {
				if (n === void 0) {
					for (n = e.__; n && (!n.__c || !n.__c.__P);) n = n.__;
					n &&= n.__c;
				}
				r.__P = n, Ie(be.push(r));
			} else Le(r);
		} catch (e) {
			t = e;
		}
	}), r.__H = void 0, t && xe.__e(t, r.__v));
};
var Pe = typeof requestAnimationFrame == "function";
function Fe(e) {
	var t, n = function() {
		clearTimeout(r), Pe && cancelAnimationFrame(t), setTimeout(e);
	}, r = setTimeout(n, 35);
	Pe && (t = requestAnimationFrame(n));
}
function Ie(e) {
	e != 1 && ge == xe.requestAnimationFrame || ((ge = xe.requestAnimationFrame) || Fe)(Ne);
}
function Le(e) {
	var t = L, n = e.__c;
	typeof n == "function" && (e.__c = void 0, n()), L = t;
}
function Re(e) {
	var t = L;
	e.__c = e.__(), L = t;
}
function ze(e, t) {
	return !e || e.length != t.length || t.some(function(t, n) {
		return !_e(t, e[n]);
	});
}
function Be(e, t) {
	return typeof t == "function" ? t(e) : t;
}
// src/api/client.ts
var Ve = 300, He = 50, Ue = 4, We = 1e3, Ge = 20, Ke = class extends Error {
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
		for (let s = 0, c = 0;;) {
			let l = await Xe(t, r(e, i), a);
			if (l.status === 202) o?.(await Qe(l)), c += 1, await n(c <= Ue ? He : Ve, a);
			else if (l.status === 503 && s < Ge) {
				s += 1;
				let { message: e } = await Ze(l);
				o?.({
					doing: e,
					share: null,
					waited_s: s
				}), await n(We, a);
			} else if (l.ok) return l;
			else throw await Ze(l);
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
// src/app/api/cache.ts
var tt = class {
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
}, nt = I(null), rt = nt.Provider;
function U() {
	let e = je(nt);
	if (!e) throw Error("outside of the app");
	return e;
}
// src/app/layout/focus.ts
function it(e, t) {
	let n = H(!0);
	V(() => {
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
function W(t, n, r, i, a, o) {
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
function G({ name: e, size: t = 16 }) {
	return /* @__PURE__ */ W("svg", {
		class: "icon",
		width: t,
		height: t,
		viewBox: "0 0 16 16",
		"aria-hidden": "true",
		children: /* @__PURE__ */ W("path", { d: ct[e] })
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
	let [e, t] = B(ce);
	V(() => ue(e), [e]);
	let n = () => {
		le(dt[e]), t(dt[e]);
	}, r = `Theme: ${e}. Change to ${dt[e]}.`;
	return /* @__PURE__ */ W("button", {
		type: "button",
		class: "icon-button theme-toggle",
		onClick: n,
		"aria-label": r,
		title: r,
		children: /* @__PURE__ */ W(G, { name: ft[e] })
	});
}
// src/app/routing/frame.ts
var mt = "timesink.place", ht = () => window.parent !== window;
function gt(e) {
	if (ht()) try {
		sessionStorage.setItem(mt, e);
	} catch {}
}
function _t() {
	if (ht() && !location.hash) try {
		let e = sessionStorage.getItem(mt);
		e?.startsWith("#/") && history.replaceState(null, "", e);
	} catch {}
}
// src/app/routing/route.ts
var vt = [
	"overview",
	"operators",
	"kernels",
	"memory",
	"modules",
	"distributed",
	"trace"
];
function yt(e) {
	let [t = "", n = ""] = kt(e.replace(/^#/, ""), "?"), r = Et(n), i = {
		at: "unknown",
		path: t,
		query: r
	}, a = t.split("/").filter(Boolean).map(Ot);
	if (a.includes(null)) return i;
	let [o, ...s] = a;
	return o === void 0 ? {
		at: "home",
		query: r
	} : o === "compare" && s.length === 0 ? {
		at: "compare",
		query: r
	} : o === "run" && s.length > 0 ? wt(s, r) ?? i : i;
}
function bt(e) {
	let t = Dt(e.query);
	switch (e.at) {
		case "home": return `#/${t}`;
		case "compare": return `#/compare${t}`;
		case "run": return `#/run/${encodeURIComponent(e.run)}/${e.page}${t}`;
		case "unknown": return `#${e.path}${t}`;
	}
}
function xt(e, t, n = {}, r = {}) {
	let { worker: i = "", span: a = "" } = n;
	return bt({
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
function St(e, t) {
	return Object.fromEntries(Object.entries({
		...e,
		...t
	}).filter(([, e]) => e));
}
function Ct(e) {
	return e.at === "run" ? `run ${e.run} ${e.page}` : e.at === "unknown" ? `unknown ${e.path}` : e.at;
}
function wt(e, t) {
	let n = e.at(-1);
	return e.length === 1 ? {
		at: "run",
		run: n,
		page: "overview",
		query: t
	} : Tt(n) ? {
		at: "run",
		run: e.slice(0, -1).join("/"),
		page: n,
		query: t
	} : null;
}
function Tt(e) {
	return vt.includes(e);
}
function Et(e) {
	return Object.fromEntries(new URLSearchParams(e));
}
function Dt(e) {
	let t = Object.entries(e).filter(([, e]) => e !== "");
	return t.length ? `?${new URLSearchParams(t)}` : "";
}
function Ot(e) {
	try {
		return decodeURIComponent(e);
	} catch {
		return null;
	}
}
function kt(e, t) {
	let n = e.indexOf(t);
	return n < 0 ? [e, ""] : [e.slice(0, n), e.slice(n + 1)];
}
// src/app/routing/navigation.ts
var At = new EventTarget(), jt = (e, t = "push") => {
	let n = bt(e);
	n !== location.hash && (t === "push" ? history.pushState(null, "", n) : history.replaceState(null, "", n), At.dispatchEvent(new Event("change")));
};
function Mt() {
	let [e, t] = B(location.hash);
	return V(() => {
		let e = () => t(location.hash);
		return addEventListener("hashchange", e), addEventListener("popstate", e), At.addEventListener("change", e), () => {
			removeEventListener("hashchange", e), removeEventListener("popstate", e), At.removeEventListener("change", e);
		};
	}, []), yt(e);
}
// src/app/routing/pageTitle.ts
function Nt(e) {
	return e.charAt(0).toUpperCase() + e.slice(1);
}
// src/app/runs/choice.ts
function Pt(e, t) {
	let n = t.worker || e.workers[0]?.name || "", [r] = [...It(e, n), ...e.workers[0]?.spans ?? []];
	return {
		worker: n,
		span: t.span || r || ""
	};
}
function Ft(e) {
	return !e || e.timeline ? vt : e.counters.length > 0 ? ["kernels"] : [];
}
function It(e, t) {
	return e.workers.find(({ name: e }) => e === t)?.spans ?? [];
}
function Lt(e) {
	return e ? `${e.bytes}@${e.changed_s}` : "";
}
function Rt(e, t) {
	let n = t.toLowerCase().split(/\s+/).filter(Boolean);
	return e.filter(({ name: e }) => n.every((t) => e.toLowerCase().includes(t)));
}
function zt(e, t) {
	let n = (e, t) => e.name.localeCompare(t.name, "en", { numeric: !0 });
	return t === "name" ? e.toSorted(n) : e.toSorted((e, r) => r[t] - e[t] || n(e, r));
}
function Bt(e, t) {
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
var Vt = /(?:^|[/_.-])(?:base|baseline|before|main|normal|reference)(?:$|[/_.-])/;
function Ht(e, t, n = "base") {
	let r = Kt(t);
	return Gt(Wt(e, t), (e) => [
		qt(Kt(e), r),
		n === "base" && Vt.test(e) ? 1 : 0,
		qt(e, t)
	]);
}
function Ut(e, t) {
	return Gt(Wt(e, t).filter((e) => qt(e, t) > 2), (e) => [qt(e, t)]);
}
function Wt(e, t) {
	return e.map(({ name: e }) => e).filter((e) => e !== t);
}
function Gt(e, t) {
	return e.toSorted((e, n) => {
		let [r, i] = [t(e), t(n)], a = r.findIndex((e, t) => e !== i[t]);
		return a < 0 ? e.localeCompare(n) : (i[a] ?? 0) - (r[a] ?? 0);
	})[0];
}
function Kt(e) {
	return e.slice(0, e.lastIndexOf("/") + 1);
}
function qt(e, t) {
	let n = 0;
	for (; n < e.length && e[n] === t[n];) n += 1;
	return n;
}
// src/app/layout/PartPickers.tsx
function Jt({ run: e, route: t }) {
	let { worker: n, span: r } = Pt(e, t.query), i = e.workers.map(({ name: e }) => e), a = It(e, n), o = (e) => {
		let n = Object.entries(t.query).filter(([e]) => e.startsWith("sort.") || e === "group");
		jt({
			...t,
			query: St(Object.fromEntries(n), e)
		});
	};
	return /* @__PURE__ */ W(b, { children: [(i.length > 1 || n && !i.includes(n)) && /* @__PURE__ */ W(Yt, {
		label: "Worker",
		names: i,
		chosen: n,
		onChoose: (e) => o({ worker: e })
	}), (a.length > 1 || a.length > 0 && !a.includes(r)) && /* @__PURE__ */ W(Yt, {
		label: "Span",
		names: a,
		chosen: r,
		onChoose: (e) => o({
			worker: n,
			span: e
		})
	})] });
}
function Yt({ label: e, names: t, chosen: n, onChoose: r }) {
	let i = t.includes(n);
	return /* @__PURE__ */ W("label", {
		class: "choice",
		children: [/* @__PURE__ */ W("span", {
			class: "picker-label",
			children: e
		}), /* @__PURE__ */ W("select", {
			value: n,
			onChange: ({ currentTarget: e }) => r(e.value),
			children: [!i && /* @__PURE__ */ W("option", {
				value: n,
				children: [n, " (not there)"]
			}), t.map((e) => /* @__PURE__ */ W("option", {
				value: e,
				children: e
			}, e))]
		})]
	});
}
// src/app/layout/RunPicker.tsx
function Xt({ label: e, runs: t, chosen: n, onPick: r }) {
	let i = Me(), [a, o] = B(!1), [s, c] = B(""), [l, u] = B(0), d = H(null), f = Rt(t, s), p = f[Math.min(l, f.length - 1)], m = () => {
		c(""), u(Math.max(0, t.findIndex(({ name: e }) => e === n))), o(!0);
	}, h = () => {
		o(!1), d.current?.focus();
	}, g = (e) => {
		h(), r(e);
	};
	return /* @__PURE__ */ W("div", {
		class: "picker",
		onFocusOut: ({ currentTarget: e, relatedTarget: t }) => {
			e.contains(t) || o(!1);
		},
		children: [/* @__PURE__ */ W("button", {
			ref: d,
			type: "button",
			class: "picker-button",
			"aria-haspopup": "listbox",
			"aria-expanded": a,
			"aria-label": `${e}: ${n || "choose"}`,
			title: n,
			onClick: () => a ? o(!1) : m(),
			children: [
				/* @__PURE__ */ W("span", {
					class: "picker-label",
					children: e
				}),
				/* @__PURE__ */ W("span", {
					class: `picker-value ${n ? "" : "empty"}`,
					children: /* @__PURE__ */ W("bdi", { children: n || "choose a run" })
				}),
				/* @__PURE__ */ W(G, {
					name: "down",
					size: 12
				})
			]
		}), a && /* @__PURE__ */ W("div", {
			class: "picker-panel",
			children: [/* @__PURE__ */ W("input", {
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
			}), /* @__PURE__ */ W("div", {
				class: "options",
				id: `${i}-list`,
				role: "listbox",
				"aria-label": e,
				children: [f.map((e, t) => /* @__PURE__ */ W("div", {
					id: `${i}-${t}`,
					role: "option",
					"aria-selected": e === p,
					class: e.name === n ? "chosen" : "",
					ref: (t) => {
						e === p && t?.scrollIntoView({ block: "nearest" });
					},
					onMouseDown: (e) => e.preventDefault(),
					onClick: () => g(e.name),
					children: [e.name, e.growing && /* @__PURE__ */ W("span", {
						class: "tag recording",
						children: "recording"
					})]
				}, e.name)), f.length === 0 && /* @__PURE__ */ W("p", {
					class: "none",
					children: "No run has this in its name."
				})]
			})]
		})]
	});
}
// src/app/layout/Header.tsx
function Zt({ onHelp: e }) {
	let { route: t, listing: n } = U(), r = n?.runs ?? [];
	return /* @__PURE__ */ W("header", {
		class: "app-header",
		children: [/* @__PURE__ */ W("div", {
			class: "app-bar",
			children: [
				/* @__PURE__ */ W("a", {
					class: "brand",
					href: "#/",
					title: "All runs",
					children: [/* @__PURE__ */ W(tn, {}), "timesink"]
				}),
				/* @__PURE__ */ W("div", {
					class: "subject-pickers",
					children: [
						t.at === "run" && /* @__PURE__ */ W(Qt, {
							route: t,
							runs: r
						}),
						t.at === "compare" && /* @__PURE__ */ W($t, {
							route: t,
							runs: r
						}),
						t.at === "home" && n && /* @__PURE__ */ W("span", {
							class: "logdir",
							children: n.logdir
						})
					]
				}),
				/* @__PURE__ */ W("div", {
					class: "app-tools",
					children: [
						ht() && /* @__PURE__ */ W("a", {
							class: "icon-button",
							href: bt(t),
							target: "_blank",
							rel: "noopener",
							"aria-label": "Open in a window of its own",
							title: "Open in a window of its own: its address holds what you see",
							children: /* @__PURE__ */ W(G, { name: "link" })
						}),
						/* @__PURE__ */ W(pt, {}),
						/* @__PURE__ */ W("button", {
							type: "button",
							class: "icon-button",
							"aria-label": "Help and keys",
							title: "Help and keys (?)",
							onClick: e,
							children: /* @__PURE__ */ W(G, { name: "unknown" })
						})
					]
				})
			]
		}), /* @__PURE__ */ W(en, {
			route: t,
			runs: r
		})]
	});
}
function Qt({ route: e, runs: t }) {
	let n = t.find(({ name: t }) => t === e.run), r = e.page;
	return /* @__PURE__ */ W(b, { children: [
		/* @__PURE__ */ W(Xt, {
			label: "Run",
			runs: t,
			chosen: e.run,
			onPick: (e) => jt({
				at: "run",
				run: e,
				page: r,
				query: {}
			})
		}),
		n && /* @__PURE__ */ W(Jt, {
			run: n,
			route: e
		}),
		n?.growing && /* @__PURE__ */ W("span", {
			class: "tag recording",
			children: "recording"
		})
	] });
}
function $t({ route: e, runs: t }) {
	let { base: n = "", new: r = "" } = e.query, i = (t) => jt({
		at: "compare",
		query: {
			...e.query,
			...t
		}
	});
	return /* @__PURE__ */ W(b, { children: [
		/* @__PURE__ */ W(Xt, {
			label: "Base",
			runs: t,
			chosen: n,
			onPick: (e) => i({
				base: e,
				new: r
			})
		}),
		/* @__PURE__ */ W("button", {
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
		/* @__PURE__ */ W(Xt, {
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
function en({ route: e, runs: t }) {
	let n = e.at === "run" ? e.run : e.query.new || e.query.base;
	if (e.at !== "run" && e.at !== "compare" || !n) return null;
	let r = t.find(({ name: e }) => e === n);
	if (t.length > 0 && !r) return null;
	let i = e.at === "run" ? e.page : "compare", a = e.at === "run" ? e.query : {}, o = e.at === "compare" ? e.query : { new: n };
	return /* @__PURE__ */ W("nav", {
		class: "page-tabs",
		"aria-label": "Pages",
		children: [...Ft(r).map((e) => ({
			page: e,
			href: xt(n, e, a)
		})), {
			page: "compare",
			href: bt({
				at: "compare",
				query: o
			})
		}].map(({ page: e, href: t }) => /* @__PURE__ */ W("a", {
			href: t,
			"aria-current": e === i ? "page" : void 0,
			ref: (t) => {
				e === i && t?.scrollIntoView({
					block: "nearest",
					inline: "nearest"
				});
			},
			children: Nt(e)
		}, e))
	});
}
function tn() {
	return /* @__PURE__ */ W("svg", {
		class: "mark",
		width: "20",
		height: "20",
		viewBox: "0 0 20 20",
		"aria-hidden": "true",
		children: [/* @__PURE__ */ W("path", {
			class: "mark-glass",
			d: "M5 2.5h10M5 17.5h10M6.2 2.5c0 4.2 3.2 5 3.2 7.5s-3.2 3.3-3.2 7.5M13.8 2.5c0 4.2-3.2 5-3.2 7.5s3.2 3.3 3.2 7.5"
		}), /* @__PURE__ */ W("path", {
			class: "mark-sand",
			d: "M7 17c.3-2.4 1.6-3.4 3-3.4s2.7 1 3 3.4z"
		})]
	});
}
// src/app/layout/Help.tsx
var K = [
	[["?"], "show this"],
	[["/"], "search on the page"],
	[["Esc"], "close details, lists and this"],
	[["Tab"], "go through links, tables and buttons; Enter follows"]
], nn = [
	[["W", "S"], "zoom in and out"],
	[["A", "D"], "move left and right"],
	[["F"], "fit what is chosen"],
	[["/"], "search in the trace"],
	[["?"], "all keys of the trace"]
];
function rn({ open: e, onClose: t }) {
	let { listing: n } = U(), r = H(null);
	return V(() => {
		e ? r.current?.showModal() : r.current?.close();
	}, [e]), /* @__PURE__ */ W("dialog", {
		ref: r,
		class: "key-help",
		"aria-labelledby": "help-title",
		onClose: t,
		children: [
			/* @__PURE__ */ W("header", { children: [/* @__PURE__ */ W("h2", {
				id: "help-title",
				children: "Keys"
			}), /* @__PURE__ */ W("button", {
				type: "button",
				class: "icon-button",
				"aria-label": "Close",
				onClick: t,
				children: /* @__PURE__ */ W(G, { name: "close" })
			})] }),
			/* @__PURE__ */ W(an, { rows: K }),
			/* @__PURE__ */ W("h3", { children: "In the trace" }),
			/* @__PURE__ */ W(an, { rows: nn }),
			/* @__PURE__ */ W("p", {
				class: "quiet",
				children: [
					"The address of the page holds everything you see: copy it to show it to someone else",
					ht() && ", out of a window of its own (the arrow above)",
					". Names of operators, kernels, modules and moments lead to each other."
				]
			}),
			n && /* @__PURE__ */ W("p", {
				class: "quiet",
				children: ["timesink ", n.version]
			})
		]
	});
}
function an({ rows: e }) {
	return /* @__PURE__ */ W("dl", {
		class: "keys",
		children: e.map(([e, t]) => /* @__PURE__ */ W("div", { children: [/* @__PURE__ */ W("dt", { children: e.map((e) => /* @__PURE__ */ W("kbd", { children: e }, e)) }), /* @__PURE__ */ W("dd", { children: t })] }, t))
	});
}
// src/app/layout/keyboard.ts
function on(e, t) {
	V(() => {
		let n = (n) => {
			if (!(t || n.defaultPrevented || q(n.target)) && !(n.ctrlKey || n.metaKey || n.altKey)) {
				if (n.key === "?") e();
				else if (n.key === "/") sn();
				else return;
				n.preventDefault();
			}
		};
		return document.addEventListener("keydown", n), () => document.removeEventListener("keydown", n);
	}, [e, t]);
}
function sn() {
	let e = document.querySelector("main input[type=search]");
	e?.focus(), e?.select();
}
function q(e) {
	return e instanceof HTMLElement && (e.isContentEditable || e.matches("input, select, textarea"));
}
// src/app/layout/Shown.tsx
function cn({ loaded: e, what: t, children: n }) {
	let { value: r, error: i, loading: a, progress: o, retry: s } = e;
	return /* @__PURE__ */ W(b, { children: [
		a && /* @__PURE__ */ W(ln, {
			progress: o,
			what: t
		}),
		i && /* @__PURE__ */ W(un, {
			error: i,
			onRetry: s
		}),
		r !== void 0 && n(r)
	] });
}
function ln({ progress: e, what: t }) {
	let n = e?.share ?? null, r = e?.doing || `Waiting for ${t}`;
	return /* @__PURE__ */ W("div", {
		class: "working",
		role: "status",
		children: [/* @__PURE__ */ W("progress", {
			...n === null ? {} : { value: n },
			max: 1,
			"aria-label": r
		}), /* @__PURE__ */ W("p", { children: [dn(r), n !== null && /* @__PURE__ */ W("span", {
			class: "share",
			children: [
				" ",
				Math.round(n * 100),
				" %"
			]
		})] })]
	});
}
function un({ error: e, onRetry: t }) {
	return /* @__PURE__ */ W("div", {
		class: "failure",
		role: "alert",
		children: [
			/* @__PURE__ */ W("h2", { children: e.message }),
			e.hint && /* @__PURE__ */ W("p", { children: e.hint }),
			/* @__PURE__ */ W("p", {
				class: "next",
				children: [/* @__PURE__ */ W("button", {
					type: "button",
					class: "button",
					onClick: t,
					children: "Try again"
				}), /* @__PURE__ */ W("a", {
					href: "#/",
					children: "All runs"
				})]
			})
		]
	});
}
function dn(e) {
	return e.charAt(0).toUpperCase() + e.slice(1);
}
// src/app/api/useLoaded.ts
function fn(e) {
	let { client: t, cache: n, contact: r } = U(), [i, a] = De((e, t) => e + 1, 0), [o, s] = B({
		key: "",
		address: ""
	}), c = e ? t.href(e.path, e.params) : "", l = e ? `${c} ${e.version}` : "", u = l ? n.get(l) : void 0, d = o.key === l ? o : null;
	V(() => {
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
	V(() => {
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
function pn({ onShow: e }) {
	return /* @__PURE__ */ W("p", {
		class: "notice-bar",
		role: "status",
		children: ["The recording changed since this was read.", /* @__PURE__ */ W("button", {
			type: "button",
			class: "button",
			onClick: e,
			children: "Show it"
		})]
	});
}
function mn() {
	return /* @__PURE__ */ W("p", {
		class: "notice-bar",
		role: "status",
		children: "This is still being written: what is shown is what was there when it was read."
	});
}
// src/components/Prose.tsx
function hn({ text: e }) {
	let t = e.split("`");
	return t.length % 2 == 0 ? /* @__PURE__ */ W(b, { children: e }) : /* @__PURE__ */ W(b, { children: t.map((e, t) => t % 2 ? /* @__PURE__ */ W("code", { children: e }, t) : e) });
}
// src/components/sentences.ts
function gn(e, t = 30) {
	for (let n of e.matchAll(/[.!?] (?=[A-Z0-9"`])/g)) {
		let r = n.index + 1;
		if (r >= t) return [e.slice(0, r), e.slice(r + 1)];
	}
	return [e, ""];
}
// src/components/Headline.tsx
var _n = 110;
function vn({ document: e }) {
	let [t, n] = gn(e.headline);
	return /* @__PURE__ */ W("header", {
		class: `headline tone-${e.tone}`,
		children: [
			/* @__PURE__ */ W("p", {
				class: "subject",
				children: e.subject
			}),
			/* @__PURE__ */ W("h1", {
				class: t.length > _n ? "long" : "",
				children: [e.tone !== "plain" && /* @__PURE__ */ W(G, {
					name: ut(e.tone),
					size: 22
				}), /* @__PURE__ */ W("span", { children: /* @__PURE__ */ W(hn, { text: t }) })]
			}),
			n && /* @__PURE__ */ W("p", {
				class: "more",
				children: /* @__PURE__ */ W(hn, { text: n })
			})
		]
	});
}
// src/components/links.ts
var yn = {
	hrefOfCell: () => null,
	hrefOfLink: () => null
}, bn = I(yn);
// src/components/SectionNav.tsx
function xn({ sections: e }) {
	let t = Sn(e), n = H(null);
	return V(() => {
		let e = n.current?.querySelector("[aria-current]");
		n.current && e && (n.current.scrollLeft = e.offsetLeft - n.current.offsetLeft);
	}, [t]), /* @__PURE__ */ W("nav", {
		class: "section-nav",
		"aria-label": "Sections",
		children: /* @__PURE__ */ W("ul", {
			ref: n,
			children: e.map(({ id: e, title: n }) => /* @__PURE__ */ W("li", { children: /* @__PURE__ */ W("a", {
				href: `#${e}`,
				"aria-current": e === t ? "location" : void 0,
				children: n
			}) }, e))
		})
	});
}
function Sn(e) {
	let [t, n] = B(e[0]?.id);
	return V(() => {
		let t = () => n(Cn(e));
		return t(), addEventListener("scroll", t, { passive: !0 }), () => removeEventListener("scroll", t);
	}, [e]), t;
}
function Cn(e) {
	let { scrollHeight: t, clientHeight: n, scrollTop: r } = document.documentElement;
	return r <= 0 ? e[0]?.id : r + n >= t - 2 ? e.at(-1)?.id : (e.filter(({ id: e }) => {
		let t = document.getElementById(e);
		return t !== null && t.getBoundingClientRect().top < n * .3;
	}).at(-1) ?? e[0])?.id;
}
// src/format/rounding.ts
function wn(e, t) {
	let n = Math.abs(e) * 2 ** (t + 1);
	if (!Number.isInteger(n) || n % 2 == 0) return e.toFixed(t);
	let r = Math.floor(Math.abs(e) * 10 ** t), i = r % 2 == 0 ? r : r + 1;
	return `${e < 0 ? "-" : ""}${(i / 10 ** t).toFixed(t)}`;
}
function Tn(e) {
	let [t = "0", n = "0"] = e.toExponential(2).split("e"), r = Number(n);
	if (r >= -4) return String(Number(e.toPrecision(3)));
	let i = r < 0 ? "-" : "+";
	return `${Number(t)}e${i}${String(Math.abs(r)).padStart(2, "0")}`;
}
function En(e) {
	let [t = "", n] = e.split("."), r = t.replace(/\B(?=(\d{3})+$)/g, " ");
	return n === void 0 ? r : `${r}.${n}`;
}
function J(e, t) {
	let { digits: n, unit: r } = Dn(e, t);
	return r ? `${n} ${r}` : n;
}
function Dn(e, t) {
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
		case "time_ns": return jn(t);
		case "moment_ns": return {
			digits: En(wn(t / 1e6, 3)),
			unit: "ms"
		};
		case "bytes": return Nn(t);
		case "bytes_per_s": {
			let { digits: e, unit: n } = Nn(t);
			return {
				digits: e,
				unit: `${n}/s`
			};
		}
		case "count": return {
			digits: En(wn(t, 0)),
			unit: ""
		};
		case "share": return {
			digits: wn(100 * t, 1),
			unit: "%"
		};
		case "percent": return {
			digits: wn(t, 1),
			unit: "%"
		};
		case "p_value": return {
			digits: t < .001 ? "< 0.001" : wn(t, 3),
			unit: ""
		};
		case "number": return {
			digits: kn(t),
			unit: ""
		};
		default: return {
			digits: String(t),
			unit: ""
		};
	}
}
function On(e, t) {
	let n = J(e, Math.abs(t));
	return /[1-9]/.test(n) ? `${t < 0 ? "−" : "+"}${n}` : n;
}
function kn(e) {
	return e !== 0 && Math.abs(e) < 5e-4 ? Tn(e) : En(wn(e, 3));
}
var An = [
	[1, "ns"],
	[1e3, "us"],
	[1e6, "ms"]
];
function jn(e) {
	for (let [t, n] of An) {
		let r = t === 1 ? wn(e, 0) : Mn(e / t);
		if (Math.abs(Number(r)) < 1e3) return {
			digits: r,
			unit: n
		};
	}
	return {
		digits: Mn(e / 1e9),
		unit: "s"
	};
}
function Mn(e) {
	let t = wn(e, 2);
	return Math.abs(Number(t)) < 100 ? t : wn(e, 1);
}
function Nn(e) {
	for (let [t, n] of [
		"B",
		"KiB",
		"MiB",
		"GiB"
	].entries()) {
		let r = wn(e / 1024 ** t, +!!t);
		if (Math.abs(Number(r)) < 1024) return {
			digits: r,
			unit: n
		};
	}
	return {
		digits: wn(e / 1024 ** 4, 1),
		unit: "TiB"
	};
}
var Pn = {
	b: 1,
	kib: 1024,
	mib: 1024 ** 2,
	gib: 1024 ** 3,
	tib: 1024 ** 4,
	kb: 1e3,
	mb: 1e6,
	gb: 1e9,
	tb: 0xe8d4a51000
}, Fn = {
	ns: 1,
	us: 1e3,
	µs: 1e3,
	ms: 1e6,
	s: 1e9
}, In = {
	time_ns: Fn,
	moment_ns: Fn,
	bytes: Pn,
	bytes_per_s: Object.fromEntries(Object.entries(Pn).map(([e, t]) => [`${e}/s`, t])),
	share: { "%": .01 },
	percent: { "%": 1 }
};
function Ln(e, t) {
	let n = /^(-?\d*\.?\d+(?:e[+-]?\d+)?)\s*([a-zµ%/]*)$/i.exec(t.trim());
	if (!n) return null;
	let r = Number(n[1]), i = (n[2] ?? "").toLowerCase();
	if (!i) return r;
	let a = In[e]?.[i];
	return a === void 0 ? null : r * a;
}
// src/components/Caption.tsx
var Rn = I([]);
function zn({ title: e }) {
	let t = je(Rn);
	return e ? /* @__PURE__ */ W("figcaption", {
		class: t.includes(e) ? "visually-hidden" : "",
		children: e
	}) : null;
}
// src/components/scale.ts
function Bn(e) {
	let t = Math.min(0, ...e), n = Math.max(0, ...e), r = (n - t || 1) * .04, [i, a] = [t - r, n + r];
	return (e) => Math.min(Math.max(100 * (e - i) / (a - i), 0), 100);
}
var Vn = 1.35;
function Hn(e) {
	let t = Vn * Math.max(...e.map(({ change: e }) => Math.abs(e)), 0);
	return Bn(e.flatMap(({ change: e, low: n, high: r }) => [
		e,
		Math.max(n ?? e, -t),
		Math.min(r ?? e, t)
	]));
}
function Un(e, t, n) {
	let [r, i] = [e(Math.min(t, n)), e(Math.max(t, n))];
	return {
		left: `${r}%`,
		width: `${i - r}%`
	};
}
function Wn(e, t) {
	return [Math.floor(e * 1e3 + 1e-6) / 1e3, Math.ceil(t * 1e3 - 1e-6) / 1e3];
}
var Gn = 3.4;
function Kn([e, t, n]) {
	let r = ({ text: e }) => e.length * Gn / 2, i = Math.max(r(t) + r(n) - (n.at - t.at), 0), a = [{
		...t,
		at: t.at - i / 2
	}, {
		...n,
		at: n.at + i / 2
	}];
	return a.every((t) => Math.abs(t.at - e.at) >= r(e) + r(t)) ? [e, ...a] : a;
}
// src/components/Attribution.tsx
function qn({ block: e }) {
	let t = Hn(e.rows);
	return /* @__PURE__ */ W("figure", {
		class: "attribution",
		children: [/* @__PURE__ */ W(zn, { title: e.title }), /* @__PURE__ */ W("table", { children: [
			/* @__PURE__ */ W("thead", { children: /* @__PURE__ */ W("tr", { children: [
				/* @__PURE__ */ W("th", {
					scope: "col",
					children: "part"
				}),
				/* @__PURE__ */ W("th", {
					scope: "col",
					class: "direction",
					children: [/* @__PURE__ */ W("span", { children: "◂ less" }), /* @__PURE__ */ W("span", { children: "more ▸" })]
				}),
				/* @__PURE__ */ W("th", {
					scope: "col",
					class: "number",
					children: "change"
				}),
				/* @__PURE__ */ W("th", {
					scope: "col",
					class: "number sides",
					children: "base → new"
				})
			] }) }),
			/* @__PURE__ */ W("tbody", { children: e.rows.map((n) => /* @__PURE__ */ W(Jn, {
				row: n,
				block: e,
				scale: t
			}, n.id)) }),
			/* @__PURE__ */ W("tfoot", { children: /* @__PURE__ */ W("tr", { children: [
				/* @__PURE__ */ W("th", {
					scope: "row",
					children: "all"
				}),
				/* @__PURE__ */ W("td", {}),
				/* @__PURE__ */ W("td", {
					class: "number",
					children: On(e.kind, e.change)
				}),
				/* @__PURE__ */ W("td", { class: "sides" })
			] }) })
		] })]
	});
}
function Jn(e) {
	let { row: t, block: n, scale: r } = e, { kind: i } = n, a = t.low === null || t.high === null ? "" : `, between ${On(i, t.low)} and ${On(i, t.high)}`, o = t.sure ? "" : ", within the noise", s = `${t.name}: ${On(i, t.change)}${a}${o}. ${t.help}`;
	return /* @__PURE__ */ W("tr", {
		class: t.sure ? "" : "unsure",
		title: s,
		children: [
			/* @__PURE__ */ W("th", {
				scope: "row",
				children: t.name
			}),
			/* @__PURE__ */ W("td", {
				class: "bar",
				children: [
					/* @__PURE__ */ W("div", {
						class: "zero",
						style: { left: `${r(0)}%` }
					}),
					/* @__PURE__ */ W("div", {
						class: `fill ${t.change < 0 ? "less" : "more"}`,
						style: Un(r, 0, t.change)
					}),
					t.low !== null && t.high !== null && /* @__PURE__ */ W("div", {
						class: "whisker",
						style: Un(r, t.low, t.high)
					})
				]
			}),
			/* @__PURE__ */ W("td", {
				class: "number",
				children: [!t.sure && /* @__PURE__ */ W("span", {
					class: "noise",
					children: "noise "
				}), On(i, t.change)]
			}),
			/* @__PURE__ */ W("td", {
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
var Yn = 28, Xn = {
	least: 6,
	most: 12
};
function Zn(e) {
	return e.length > 12;
}
function Qn(e) {
	return e.length > Yn;
}
function $n(e) {
	if (!Qn(e)) return [e, ""];
	let t = e.length - Xn.most, n = e.length - Xn.least, r = e.slice(t, n).search(/[^A-Za-z0-9]/), i = r < 0 ? n : t + r, a = /[\udc00-\udfff]/.test(e[i] ?? "") ? i + 1 : i;
	return [e.slice(0, a), e.slice(a)];
}
function er(e) {
	return e ? { "--tail": `${(ar(e) + .2).toFixed(1)}ch` } : void 0;
}
var tr = /[ .,:;'|!()[\]{}/\\ijltfrI-]/g, nr = /[A-HJ-LN-VX-Z]/g, rr = /[mwMW%@]/g, ir = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/gu;
function ar(e) {
	let t = (t) => e.match(t)?.length ?? 0, n = .2 * t(nr) + .45 * t(rr) + .8 * t(ir);
	return e.length - .5 * t(tr) + n;
}
// src/components/CardParts.tsx
function or({ text: e }) {
	return e ? /* @__PURE__ */ W("p", {
		class: "advice",
		children: [/* @__PURE__ */ W(G, { name: "advice" }), /* @__PURE__ */ W("span", { children: [/* @__PURE__ */ W("span", {
			class: "visually-hidden",
			children: "Advice: "
		}), /* @__PURE__ */ W(hn, { text: e })] })]
	}) : null;
}
function sr({ lines: e, links: t }) {
	return !e.length && !t.length ? null : /* @__PURE__ */ W("details", {
		class: "evidence",
		children: [
			/* @__PURE__ */ W("summary", { children: [/* @__PURE__ */ W(G, {
				name: "down",
				size: 12
			}), "Evidence"] }),
			e.length > 0 && /* @__PURE__ */ W("ul", { children: e.map((e) => /* @__PURE__ */ W("li", { children: e }, e)) }),
			/* @__PURE__ */ W(cr, { links: t })
		]
	});
}
function cr({ links: e }) {
	let { hrefOfLink: t } = je(bn);
	return e.length ? /* @__PURE__ */ W("ul", {
		class: "links",
		children: e.map((e) => {
			let n = t(e), [r, i] = $n(e.label), a = /* @__PURE__ */ W("span", {
				class: "name",
				title: e.label,
				style: er(i),
				children: [/* @__PURE__ */ W("span", {
					class: "head",
					children: r
				}), i]
			});
			return /* @__PURE__ */ W("li", { children: n ? /* @__PURE__ */ W("a", {
				href: n,
				children: a
			}) : a }, `${e.section} ${e.search} ${e.label} ${e.from_ns}`);
		})
	}) : null;
}
function lr({ share: e, words: t }) {
	return /* @__PURE__ */ W("span", {
		class: "share-bar",
		children: [/* @__PURE__ */ W("span", {
			class: "meter",
			"aria-hidden": "true",
			children: /* @__PURE__ */ W("span", { style: { width: `${100 * Math.min(Math.max(e, 0), 1)}%` } })
		}), t]
	});
}
// src/components/Causes.tsx
function ur({ block: e }) {
	return e.items.length ? /* @__PURE__ */ W("ol", {
		class: "cards",
		children: e.items.map((e, t) => /* @__PURE__ */ W(dr, { item: e }, `${e.cause} ${t}`))
	}) : /* @__PURE__ */ W("p", {
		class: "note tone-notice",
		children: [/* @__PURE__ */ W(G, { name: "notice" }), /* @__PURE__ */ W("span", { children: e.empty })]
	});
}
function dr({ item: e }) {
	let t = e.role === "cause" ? "bad" : "warning";
	return /* @__PURE__ */ W("li", {
		class: `card tone-${t}`,
		children: [
			/* @__PURE__ */ W("p", {
				class: "kicker",
				children: [
					/* @__PURE__ */ W(G, {
						name: ut(t),
						size: 14
					}),
					/* @__PURE__ */ W("span", {
						class: "badge",
						children: e.role
					}),
					e.explained !== null && /* @__PURE__ */ W("span", {
						class: "gain",
						children: On(e.kind, e.explained)
					}),
					e.share !== null && /* @__PURE__ */ W(lr, {
						share: e.share,
						words: `${J("share", e.share)} ${e.share_word}`
					})
				]
			}),
			/* @__PURE__ */ W("h3", { children: [
				e.title,
				" ",
				/* @__PURE__ */ W("code", {
					class: "quiet",
					children: e.cause
				})
			] }),
			/* @__PURE__ */ W("p", { children: /* @__PURE__ */ W(hn, { text: e.sentence }) }),
			/* @__PURE__ */ W(or, { text: e.advice }),
			/* @__PURE__ */ W(sr, {
				lines: e.evidence,
				links: e.links
			})
		]
	});
}
// node_modules/uplot/dist/uPlot.esm.js
var fr = !0, pr = "uplot", mr = "u-hz", hr = "u-vt", gr = "u-title", _r = "u-wrap", vr = "u-under", yr = "u-over", br = "u-axis", xr = "u-off", Sr = "u-select", Cr = "u-cursor-x", wr = "u-cursor-y", Tr = "u-cursor-pt", Er = "u-legend", Dr = "u-live", Or = "u-inline", kr = "u-series", Ar = "u-marker", jr = "u-label", Mr = "u-value", Nr = "width", Pr = "height", Fr = "top", Ir = "bottom", Lr = "left", Rr = "right", zr = "#000", Br = "#0000", Vr = "mousemove", Hr = "mousedown", Ur = "mouseup", Wr = "mouseenter", Gr = "mouseleave", Kr = "dblclick", qr = "resize", Jr = "scroll", Yr = "change", Xr = "dppxchange", Zr = "--", Qr = typeof window < "u", $r = Qr ? document : null, ei = Qr ? window : null, ti = Qr ? navigator : null, Y, ni;
function ri() {
	let e = devicePixelRatio;
	Y != e && (Y = e, ni && vi(Yr, ni, ri), ni = matchMedia(`(min-resolution: ${Y - .001}dppx) and (max-resolution: ${Y + .001}dppx)`), _i(Yr, ni, ri), ei.dispatchEvent(new CustomEvent(Xr)));
}
function ii(e, t) {
	if (t != null) {
		let n = e.classList;
		!n.contains(t) && n.add(t);
	}
}
function ai(e, t) {
	let n = e.classList;
	n.contains(t) && n.remove(t);
}
function oi(e, t, n) {
	e.style[t] = n + "px";
}
function si(e, t, n, r) {
	let i = $r.createElement(e);
	return t != null && ii(i, t), n?.insertBefore(i, r), i;
}
function ci(e, t) {
	return si("div", e, t);
}
var li = /* @__PURE__ */ new WeakMap();
function ui(e, t, n, r, i) {
	let a = "translate(" + t + "px," + n + "px)";
	a != li.get(e) && (e.style.transform = a, li.set(e, a), t < 0 || n < 0 || t > r || n > i ? ii(e, xr) : ai(e, xr));
}
var di = /* @__PURE__ */ new WeakMap();
function fi(e, t, n) {
	let r = t + n;
	r != di.get(e) && (di.set(e, r), e.style.background = t, e.style.borderColor = n);
}
var pi = /* @__PURE__ */ new WeakMap();
function mi(e, t, n, r) {
	let i = t + "" + n;
	i != pi.get(e) && (pi.set(e, i), e.style.height = n + "px", e.style.width = t + "px", e.style.marginLeft = r ? -t / 2 + "px" : 0, e.style.marginTop = r ? -n / 2 + "px" : 0);
}
var hi = { passive: !0 }, gi = {
	...hi,
	capture: !0
};
function _i(e, t, n, r) {
	t.addEventListener(e, n, r ? gi : hi);
}
function vi(e, t, n, r) {
	t.removeEventListener(e, n, hi);
}
Qr && ri();
function yi(e, t, n, r) {
	let i;
	n ||= 0, r ||= t.length - 1;
	let a = r <= 2147483647;
	for (; r - n > 1;) i = a ? n + r >> 1 : Bi((n + r) / 2), t[i] < e ? n = i : r = i;
	return e - t[n] <= t[r] - e ? n : r;
}
function bi(e) {
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
var xi = (e) => e != null, Si = (e) => e != null && e > 0, Ci = bi(xi), wi = bi(Si);
function Ti(e, t, n, r = 0, i = !1) {
	let a = i ? wi : Ci, o = i ? Si : xi;
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
	return [s ?? Zi, c ?? -Zi];
}
function Ei(e, t, n, r) {
	let i = Ki(e), a = Ki(t);
	e == t && (i == -1 ? (e *= n, t /= n) : (e /= n, t *= n));
	let o = n == 10 ? qi : Ji, s = i == 1 ? Bi : Hi, c = a == 1 ? Hi : Bi, l = s(o(zi(e))), u = c(o(zi(t))), d = Gi(n, l), f = Gi(n, u);
	return n == 10 && (l < 0 && (d = Q(d, -l)), u < 0 && (f = Q(f, -u))), r || n == 2 ? (e = d * i, t = f * a) : (e = da(e, d), t = ua(t, f)), [e, t];
}
function Di(e, t, n, r) {
	let i = Ei(e, t, n, r);
	return e == 0 && (i[0] = 0), t == 0 && (i[1] = 0), i;
}
var Oi = .1, ki = {
	mode: 3,
	pad: Oi
}, Ai = {
	pad: 0,
	soft: null,
	mode: 0
}, ji = {
	min: Ai,
	max: Ai
};
function Mi(e, t, n, r) {
	return Sa(n) ? Pi(e, t, n) : (Ai.pad = n, Ai.soft = r ? 0 : null, Ai.mode = r ? 3 : 0, Pi(e, t, ji));
}
function X(e, t) {
	return e ?? t;
}
function Ni(e, t, n) {
	for (t = X(t, 0), n = X(n, e.length - 1); t <= n;) {
		if (e[t] != null) return !0;
		t++;
	}
	return !1;
}
function Pi(e, t, n) {
	let r = n.min, i = n.max, a = X(r.pad, 0), o = X(i.pad, 0), s = X(r.hard, -Zi), c = X(i.hard, Zi), l = X(r.soft, Zi), u = X(i.soft, -Zi), d = X(r.mode, 0), f = X(i.mode, 0), p = t - e, m = qi(p), h = Wi(zi(e), zi(t)), g = zi(qi(h) - m);
	(p < 1e-24 || g > 10) && (p = 0, (e == 0 || t == 0) && (p = 1e-24, d == 2 && l != Zi && (a = 0), f == 2 && u != -Zi && (o = 0)));
	let _ = p || h || 1e3, v = Gi(10, Bi(qi(_))), y = Q(da(e - _ * (p == 0 ? e == 0 ? .1 : 1 : a), v / 10), 24), b = e >= l && (d == 1 || d == 3 && y <= l || d == 2 && y >= l) ? l : Zi, x = Wi(s, y < b && e >= b ? b : Ui(b, y)), S = Q(ua(t + _ * (p == 0 ? t == 0 ? .1 : 1 : o), v / 10), 24), C = t <= u && (f == 1 || f == 3 && S >= u || f == 2 && S <= u) ? u : -Zi, w = Ui(c, S > C && t <= C ? C : Wi(C, S));
	return x == w && x == 0 && (w = 100), [x, w];
}
var Fi = new Intl.NumberFormat(Qr ? ti.language : "en-US"), Ii = (e) => Fi.format(e), Li = Math, Ri = Li.PI, zi = Li.abs, Bi = Li.floor, Vi = Li.round, Hi = Li.ceil, Ui = Li.min, Wi = Li.max, Gi = Li.pow, Ki = Li.sign, qi = Li.log10, Ji = Li.log2, Yi = (e, t = 1) => Li.sinh(e) * t, Xi = (e, t = 1) => Li.asinh(e / t), Zi = Infinity;
function Qi(e) {
	return (qi((e ^ e >> 31) - (e >> 31)) | 0) + 1;
}
function $i(e, t, n) {
	return Ui(Wi(e, t), n);
}
function ea(e) {
	return typeof e == "function";
}
function Z(e) {
	return ea(e) ? e : () => e;
}
var ta = () => {}, na = (e) => e, ra = (e, t) => t, ia = (e) => null, aa = (e) => !0, oa = (e, t) => e == t, sa = /\.\d*?(?=9{6,}|0{6,})/gm, ca = (e) => {
	if (ya(e) || fa.has(e)) return e;
	let t = `${e}`, n = t.match(sa);
	if (n == null) return e;
	let r = n[0].length - 1;
	if (t.indexOf("e-") != -1) {
		let [e, n] = t.split("e");
		return +`${ca(e)}e${n}`;
	}
	return Q(e, r);
};
function la(e, t) {
	return ca(Q(ca(e / t)) * t);
}
function ua(e, t) {
	return ca(Hi(ca(e / t)) * t);
}
function da(e, t) {
	return ca(Bi(ca(e / t)) * t);
}
function Q(e, t = 0) {
	if (ya(e)) return e;
	let n = 10 ** t;
	return Vi(e * n * (1 + 2 ** -52)) / n;
}
var fa = /* @__PURE__ */ new Map();
function pa(e) {
	return (("" + e).split(".")[1] || "").length;
}
function ma(e, t, n, r) {
	let i = [], a = r.map(pa);
	for (let o = t; o < n; o++) {
		let t = zi(o), n = Q(Gi(e, o), t);
		for (let s = 0; s < r.length; s++) {
			let c = e == 10 ? +`${r[s]}e${o}` : r[s] * n, l = (o >= 0 ? 0 : t) + (o >= a[s] ? 0 : a[s]), u = e == 10 ? c : Q(c, l);
			i.push(u), fa.set(u, l);
		}
	}
	return i;
}
var ha = {}, ga = [], _a = [null, null], va = Array.isArray, ya = Number.isInteger, ba = (e) => e === void 0;
function xa(e) {
	return typeof e == "string";
}
function Sa(e) {
	let t = !1;
	if (e != null) {
		let n = e.constructor;
		t = n == null || n == Object;
	}
	return t;
}
function Ca(e) {
	return typeof e == "object" && !!e;
}
var wa = Object.getPrototypeOf(Uint8Array), Ta = "__proto__";
function Ea(e, t = Sa) {
	let n;
	if (va(e)) {
		let r = e.find((e) => e != null);
		if (va(r) || t(r)) {
			n = Array(e.length);
			for (let r = 0; r < e.length; r++) n[r] = Ea(e[r], t);
		} else n = e.slice();
	} else if (e instanceof wa) n = e.slice();
	else if (t(e)) {
		n = {};
		for (let r in e) r != Ta && (n[r] = Ea(e[r], t));
	} else n = e;
	return n;
}
function Da(e) {
	let t = arguments;
	for (let n = 1; n < t.length; n++) {
		let r = t[n];
		for (let t in r) t != Ta && (Sa(e[t]) ? Da(e[t], Ea(r[t])) : e[t] = Ea(r[t]));
	}
	return e;
}
var Oa = 0, ka = 1, Aa = 2;
function ja(e, t, n) {
	for (let r = 0, i, a = -1; r < t.length; r++) {
		let o = t[r];
		if (o > a) {
			for (i = o - 1; i >= 0 && e[i] == null;) e[i--] = null;
			for (i = o + 1; i < n && e[i] == null;) e[a = i++] = null;
		}
	}
}
function Ma(e, t) {
	if (Fa(e)) {
		let t = e[0].slice();
		for (let n = 1; n < e.length; n++) t.push(...e[n].slice(1));
		return Ia(t[0]) || (t = Pa(t)), t;
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
			let c = o[e], l = Array(i).fill(void 0), u = t ? t[n][e] : ka, d = [];
			for (let e = 0; e < c.length; e++) {
				let t = c[e], n = a.get(s[e]);
				t === null ? u != Oa && (l[n] = t, u == Aa && d.push(n)) : l[n] = t;
			}
			ja(l, d, i), r.push(l);
		}
	}
	return r;
}
var Na = typeof queueMicrotask > "u" ? (e) => Promise.resolve().then(e) : queueMicrotask;
function Pa(e) {
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
function Fa(e) {
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
function Ia(e, t = 100) {
	let n = e.length;
	if (n <= 1) return !0;
	let r = 0, i = n - 1;
	for (; r <= i && e[r] == null;) r++;
	for (; i >= r && e[i] == null;) i--;
	if (i <= r) return !0;
	let a = Wi(1, Bi((i - r + 1) / t));
	for (let t = e[r], n = r + a; n <= i; n += a) {
		let r = e[n];
		if (r != null) {
			if (r <= t) return !1;
			t = r;
		}
	}
	return !0;
}
var La = [
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
], Ra = [
	"Sunday",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday"
];
function za(e) {
	return e.slice(0, 3);
}
var Ba = Ra.map(za), Va = {
	MMMM: La,
	MMM: La.map(za),
	WWWW: Ra,
	WWW: Ba
};
function Ha(e) {
	return (e < 10 ? "0" : "") + e;
}
function Ua(e) {
	return (e < 10 ? "00" : e < 100 ? "0" : "") + e;
}
var Wa = {
	YYYY: (e) => e.getFullYear(),
	YY: (e) => (e.getFullYear() + "").slice(2),
	MMMM: (e, t) => t.MMMM[e.getMonth()],
	MMM: (e, t) => t.MMM[e.getMonth()],
	MM: (e) => Ha(e.getMonth() + 1),
	M: (e) => e.getMonth() + 1,
	DD: (e) => Ha(e.getDate()),
	D: (e) => e.getDate(),
	WWWW: (e, t) => t.WWWW[e.getDay()],
	WWW: (e, t) => t.WWW[e.getDay()],
	HH: (e) => Ha(e.getHours()),
	H: (e) => e.getHours(),
	h: (e) => {
		let t = e.getHours();
		return t == 0 ? 12 : t > 12 ? t - 12 : t;
	},
	AA: (e) => e.getHours() >= 12 ? "PM" : "AM",
	aa: (e) => e.getHours() >= 12 ? "pm" : "am",
	a: (e) => e.getHours() >= 12 ? "p" : "a",
	mm: (e) => Ha(e.getMinutes()),
	m: (e) => e.getMinutes(),
	ss: (e) => Ha(e.getSeconds()),
	s: (e) => e.getSeconds(),
	fff: (e) => Ua(e.getMilliseconds())
};
function Ga(e, t) {
	t ||= Va;
	let n = [], r = /\{([a-z]+)\}|[^{]+/gi, i;
	for (; i = r.exec(e);) n.push(i[0][0] == "{" ? Wa[i[1]] : i[0]);
	return (e) => {
		let r = "";
		for (let i = 0; i < n.length; i++) r += typeof n[i] == "string" ? n[i] : n[i](e, t);
		return r;
	};
}
var Ka = new Intl.DateTimeFormat().resolvedOptions().timeZone;
function qa(e, t) {
	let n;
	return t == "UTC" || t == "Etc/UTC" ? n = /* @__PURE__ */ new Date(+e + e.getTimezoneOffset() * 6e4) : t == Ka ? n = e : (n = new Date(e.toLocaleString("en-US", { timeZone: t })), n.setMilliseconds(e.getMilliseconds())), n;
}
var Ja = (e) => e % 1 == 0, Ya = [
	1,
	2,
	2.5,
	5
], Xa = ma(10, -32, 0, Ya), Za = ma(10, 0, 32, Ya), Qa = Za.filter(Ja), $a = Xa.concat(Za), eo = "\n", to = "{YYYY}", no = eo + to, ro = "{M}/{D}", io = eo + ro, ao = io + "/{YY}", oo = "{aa}", so = "{h}:{mm}" + oo, co = eo + so, lo = ":{ss}", $ = null;
function uo(e) {
	let t = e * 1e3, n = t * 60, r = n * 60, i = r * 24, a = i * 30, o = i * 365, s = (e == 1 ? ma(10, 0, 3, Ya).filter(Ja) : ma(10, -3, 0, Ya)).concat([
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
			to,
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
			no,
			$,
			$,
			$,
			$,
			$,
			1
		],
		[
			i,
			ro,
			no,
			$,
			$,
			$,
			$,
			$,
			1
		],
		[
			r,
			"{h}" + oo,
			ao,
			$,
			io,
			$,
			$,
			$,
			1
		],
		[
			n,
			so,
			ao,
			$,
			io,
			$,
			$,
			$,
			1
		],
		[
			t,
			lo,
			ao + " " + so,
			$,
			io + " " + so,
			$,
			co,
			$,
			1
		],
		[
			e,
			lo + ".{fff}",
			ao + " " + so,
			$,
			io + " " + so,
			$,
			co,
			$,
			1
		]
	];
	function l(t) {
		return (s, c, l, u, d, f) => {
			let p = [], m = d >= o, h = d >= a && d < o, g = t(l), _ = Q(g * e, 3), v = xo(g.getFullYear(), m ? 0 : g.getMonth(), h || m ? 1 : g.getDate()), y = Q(v * e, 3);
			if (h || m) {
				let n = h ? d / a : 0, r = m ? d / o : 0, i = _ == y ? _ : Q(xo(v.getFullYear() + r, v.getMonth() + n, 1) * e, 3), s = new Date(Vi(i / e)), c = s.getFullYear(), l = s.getMonth();
				for (let a = 0; i <= u; a++) {
					let o = xo(c + r * a, l + n * a, 1), s = o - t(Q(o * e, 3));
					i = Q((+o + s) * e, 3), i <= u && p.push(i);
				}
			} else {
				let a = d >= i ? i : d, o = y + (Bi(l) - Bi(_)) + ua(_ - y, a);
				p.push(o);
				let m = t(o), h = m.getHours() + m.getMinutes() / n + m.getSeconds() / r, g = d / r, v = f / s.axes[c]._space;
				for (; o = Q(o + d, e == 1 ? 0 : 3), !(o > u);) if (g > 1) {
					let e = Bi(Q(h + g, 6)) % 24, n = t(o).getHours() - e;
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
var [fo, po, mo] = uo(1), [ho, go, _o] = uo(.001);
ma(2, -53, 53, [1]);
function vo(e, t) {
	return e.map((e) => e.map((n, r) => r == 0 || r == 8 || n == null ? n : t(r == 1 || e[8] == 0 ? n : e[1] + n)));
}
function yo(e, t) {
	return (n, r, i, a, o) => {
		let s = t.find((e) => o >= e[0]) || t[t.length - 1], c, l, u, d, f, p;
		return r.map((t) => {
			let n = e(t), r = n.getFullYear(), i = n.getMonth(), a = n.getDate(), o = n.getHours(), m = n.getMinutes(), h = n.getSeconds(), g = r != c && s[2] || i != l && s[3] || a != u && s[4] || o != d && s[5] || m != f && s[6] || h != p && s[7] || s[1];
			return c = r, l = i, u = a, d = o, f = m, p = h, g(n);
		});
	};
}
function bo(e, t) {
	let n = Ga(t);
	return (t, r, i, a, o) => r.map((t) => n(e(t)));
}
function xo(e, t, n) {
	return new Date(e, t, n);
}
function So(e, t) {
	return t(e);
}
var Co = "{YYYY}-{MM}-{DD} {h}:{mm}{aa}";
function wo(e, t) {
	return (n, r, i, a) => a == null ? Zr : t(e(r));
}
function To(e, t) {
	let n = e.series[t];
	return n.width ? n.stroke(e, t) : n.points.width ? n.points.stroke(e, t) : null;
}
function Eo(e, t) {
	return e.series[t].fill(e, t);
}
var Do = {
	show: !0,
	live: !0,
	isolate: !1,
	mount: ta,
	markers: {
		show: !0,
		width: 2,
		stroke: To,
		fill: Eo,
		dash: "solid"
	},
	idx: null,
	idxs: null,
	values: []
};
function Oo(e, t) {
	let n = e.cursor.points, r = ci(), i = n.size(e, t);
	oi(r, Nr, i), oi(r, Pr, i);
	let a = i / -2;
	oi(r, "marginLeft", a), oi(r, "marginTop", a);
	let o = n.width(e, t, i);
	return o && oi(r, "borderWidth", o), r;
}
function ko(e, t) {
	let n = e.series[t].points;
	return n._fill || n._stroke;
}
function Ao(e, t) {
	let n = e.series[t].points;
	return n._stroke || n._fill;
}
function jo(e, t) {
	return e.series[t].points.size;
}
var Mo = [0, 0];
function No(e, t, n) {
	return Mo[0] = t, Mo[1] = n, Mo;
}
function Po(e, t, n, r = !0) {
	return (e) => {
		e.button != 0 || r && e.target != t || n(e);
	};
}
function Fo(e, t, n, r = !0) {
	return (e) => {
		r && e.target != t || n(e);
	};
}
var Io = {
	show: !0,
	x: !0,
	y: !0,
	lock: !1,
	move: No,
	points: {
		one: !1,
		show: Oo,
		size: jo,
		width: 0,
		stroke: Ao,
		fill: ko
	},
	bind: {
		mousedown: Po,
		mouseup: Po,
		click: Po,
		dblclick: Po,
		mousemove: Fo,
		mouseleave: Fo,
		mouseenter: Fo
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
}, Lo = {
	show: !0,
	stroke: "rgba(0,0,0,0.07)",
	width: 2
}, Ro = Da({}, Lo, { filter: ra }), zo = Da({}, Ro, { size: 10 }), Bo = Da({}, Lo, { show: !1 }), Vo = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, \"Noto Sans\", sans-serif, \"Apple Color Emoji\", \"Segoe UI Emoji\", \"Segoe UI Symbol\", \"Noto Color Emoji\"", Ho = "bold " + Vo, Uo = 1.5, Wo = {
	show: !0,
	scale: "x",
	stroke: zr,
	space: 50,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: Ho,
	side: 2,
	grid: Ro,
	ticks: zo,
	border: Bo,
	font: Vo,
	lineGap: Uo,
	rotate: 0
}, Go = "Value", Ko = "Time", qo = {
	show: !0,
	scale: "x",
	auto: !1,
	sorted: 1,
	min: Zi,
	max: -Infinity,
	idxs: []
};
function Jo(e, t, n, r, i) {
	return t.map((e) => e == null ? "" : Ii(e));
}
function Yo(e, t, n, r, i, a, o) {
	let s = [], c = fa.get(i) || 0;
	n = o ? n : Q(ua(n, i), c);
	for (let e = n; e <= r; e = Q(e + i, c)) s.push(Object.is(e, -0) ? 0 : e);
	return s;
}
function Xo(e, t, n, r, i, a, o) {
	let s = [], c = e.scales[e.axes[t].scale].log;
	i = Gi(c, Bi((c == 10 ? qi : Ji)(n))), c == 10 && (i = $a[yi(i, $a)]);
	let l = n, u = i * c;
	c == 10 && (u = $a[yi(u, $a)]);
	do
		s.push(l), l += i, c == 10 && !fa.has(l) && (l = Q(l, fa.get(i))), l >= u && (i = l, u = i * c, c == 10 && (u = $a[yi(u, $a)]));
	while (l <= r);
	return s;
}
function Zo(e, t, n, r, i, a, o) {
	let s = e.scales[e.axes[t].scale].asinh, c = r > s ? Xo(e, t, Wi(s, n), r, i) : [s], l = r >= 0 && n <= 0 ? [0] : [];
	return (n < -s ? Xo(e, t, Wi(s, -r), -n, i) : [s]).reverse().map((e) => -e).concat(l, c);
}
var Qo = /./, $o = /[12357]/, es = /[125]/, ts = /1/, ns = (e, t, n, r) => e.map((e, i) => t == 4 && e == 0 || i % r == 0 && n.test(e.toExponential()[+(e < 0)]) ? e : null);
function rs(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = e.scales[o], c = e.valToPos, l = a._space, u = c(10, o), d = c(9, o) - u >= l ? Qo : c(7, o) - u >= l ? $o : c(5, o) - u >= l ? es : ts;
	if (d == ts) {
		let e = zi(c(1, o) - u);
		if (e < l) return ns(t.slice().reverse(), s.distr, d, Hi(l / e)).reverse();
	}
	return ns(t, s.distr, d, 1);
}
function is(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = a._space, c = e.valToPos, l = zi(c(1, o) - c(2, o));
	return l < s ? ns(t.slice().reverse(), 3, Qo, Hi(s / l)).reverse() : t;
}
function as(e, t, n, r) {
	return r == null ? Zr : t == null ? "" : Ii(t);
}
var os = {
	show: !0,
	scale: "y",
	stroke: zr,
	space: 30,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: Ho,
	side: 3,
	grid: Ro,
	ticks: zo,
	border: Bo,
	font: Vo,
	lineGap: Uo,
	rotate: 0
};
function ss(e, t) {
	return Q((3 + (e || 1) * 2) * t, 3);
}
function cs(e, t) {
	let { scale: n, idxs: r } = e.series[0], i = e._data[0], a = e.valToPos(i[r[0]], n, !0), o = zi(e.valToPos(i[r[1]], n, !0) - a) / (e.series[t].points.space * Y);
	return r[1] - r[0] <= o;
}
var ls = {
	scale: null,
	auto: !0,
	sorted: 0,
	min: Zi,
	max: -Infinity
}, us = (e, t, n, r, i) => i, ds = {
	show: !0,
	auto: !0,
	sorted: 0,
	gaps: us,
	alpha: 1,
	facets: [Da({}, ls, { scale: "x" }), Da({}, ls, { scale: "y" })]
}, fs = {
	scale: "y",
	auto: !0,
	sorted: 0,
	show: !0,
	spanGaps: !1,
	gaps: us,
	alpha: 1,
	points: {
		show: cs,
		filter: null
	},
	values: null,
	min: Zi,
	max: -Infinity,
	idxs: [],
	path: null,
	clip: null
};
function ps(e, t, n, r, i) {
	return n / 10;
}
var ms = {
	time: fr,
	auto: !0,
	distr: 1,
	log: 10,
	asinh: 1,
	min: null,
	max: null,
	dir: 1,
	ori: 0
}, hs = Da({}, ms, {
	time: !1,
	ori: 1
}), gs = {};
function _s(e, t) {
	let n = gs[e];
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
	}, e != null && (gs[e] = n)), n;
}
var vs = 1, ys = 2;
function bs(e, t, n) {
	let r = e.mode, i = e.series[t], a = r == 2 ? e._data[t] : e._data, o = e.scales, s = e.bbox, c = a[0], l = r == 2 ? a[1] : a[t], u = r == 2 ? o[i.facets[0].scale] : o[e.series[0].scale], d = r == 2 ? o[i.facets[1].scale] : o[i.scale], f = s.left, p = s.top, m = s.width, h = s.height, g = e.valToPosH, _ = e.valToPosV;
	return u.ori == 0 ? n(i, c, l, u, d, g, _, f, p, m, h, ks, js, Ns, Fs, Ls) : n(i, c, l, u, d, _, g, p, f, h, m, As, Ms, Ps, Is, Rs);
}
function xs(e, t) {
	let n = 0, r = 0, i = X(e.bands, ga);
	for (let e = 0; e < i.length; e++) {
		let a = i[e];
		a.series[0] == t ? n = a.dir : a.series[1] == t && (a.dir == 1 ? r |= 1 : r |= 2);
	}
	return [n, r == 1 ? -1 : r == 2 ? 1 : r == 3 ? 2 : 0];
}
function Ss(e, t, n, r, i) {
	let a = e.mode, o = e.series[t], s = a == 2 ? o.facets[1].scale : o.scale, c = e.scales[s];
	return i == -1 ? c.min : i == 1 ? c.max : c.distr == 3 ? c.dir == 1 ? c.min : c.max : 0;
}
function Cs(e, t, n, r, i, a) {
	return bs(e, t, (e, t, o, s, c, l, u, d, f, p, m) => {
		let h = e.pxRound, g = s.dir * (s.ori == 0 ? 1 : -1), _ = s.ori == 0 ? js : Ms, v, y;
		g == 1 ? (v = n, y = r) : (v = r, y = n);
		let b = h(l(t[v], s, p, d)), x = h(u(o[v], c, m, f)), S = h(l(t[y], s, p, d)), C = h(u(a == 1 ? c.max : c.min, c, m, f)), w = new Path2D(i);
		return _(w, S, C), _(w, b, C), _(w, b, x), w;
	});
}
function ws(e, t, n, r, i, a) {
	let o = null;
	if (e.length > 0) {
		o = new Path2D();
		let s = t == 0 ? Ns : Ps, c = n;
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
function Ts(e, t, n) {
	let r = e[e.length - 1];
	r && r[0] == t ? r[1] = n : e.push([t, n]);
}
function Es(e, t, n, r, i, a, o) {
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
function Ds(e) {
	return e == 0 ? na : e == 1 ? Vi : (t) => la(t, e);
}
function Os(e) {
	let t = e == 0 ? ks : As, n = e == 0 ? (e, t, n, r, i, a) => {
		e.arcTo(t, n, r, i, a);
	} : (e, t, n, r, i, a) => {
		e.arcTo(n, t, i, r, a);
	}, r = e == 0 ? (e, t, n, r, i) => {
		e.rect(t, n, r, i);
	} : (e, t, n, r, i) => {
		e.rect(n, t, i, r);
	};
	return (e, i, a, o, s, c = 0, l = 0) => {
		c == 0 && l == 0 ? r(e, i, a, o, s) : (c = Ui(c, o / 2, s / 2), l = Ui(l, o / 2, s / 2), t(e, i + c, a), n(e, i + o, a, i + o, a + s, c), n(e, i + o, a + s, i, a + s, l), n(e, i, a + s, i, a, l), n(e, i, a, i + o, a, c), e.closePath());
	};
}
var ks = (e, t, n) => {
	e.moveTo(t, n);
}, As = (e, t, n) => {
	e.moveTo(n, t);
}, js = (e, t, n) => {
	e.lineTo(t, n);
}, Ms = (e, t, n) => {
	e.lineTo(n, t);
}, Ns = Os(0), Ps = Os(1), Fs = (e, t, n, r, i, a) => {
	e.arc(t, n, r, i, a);
}, Is = (e, t, n, r, i, a) => {
	e.arc(n, t, r, i, a);
}, Ls = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(t, n, r, i, a, o);
}, Rs = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(n, t, i, r, o, a);
};
function zs(e) {
	return (e, t, n, r, i) => bs(e, t, (t, a, o, s, c, l, u, d, f, p, m) => {
		let { pxRound: h, points: g } = t, _, v;
		s.ori == 0 ? (_ = ks, v = Fs) : (_ = As, v = Is);
		let y = Q(g.width * Y, 3), b = (g.size - g.width) / 2 * Y, x = Q(b * 2, 3), S = new Path2D(), C = new Path2D(), { left: w, top: T, width: E, height: D } = e.bbox;
		Ns(C, w - x, T - x, E + x * 2, D + x * 2);
		let O = (e) => {
			if (o[e] != null) {
				let t = h(l(a[e], s, p, d)), n = h(u(o[e], c, m, f));
				_(S, t + b, n), v(S, t, n, b, 0, Ri * 2);
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
function Bs(e) {
	return (t, n, r, i, a, o) => {
		r != i && (a != r && o != r && e(t, n, r), a != i && o != i && e(t, n, i), e(t, n, o));
	};
}
var Vs = Bs(js), Hs = Bs(Ms);
function Us(e) {
	let t = X(e?.alignGaps, 0);
	return (e, n, r, i) => bs(e, n, (a, o, s, c, l, u, d, f, p, m, h) => {
		[r, i] = Ci(s, r, i);
		let g = a.pxRound, _ = (e) => g(u(e, c, m, f)), v = (e) => g(d(e, l, h, p)), y, b;
		c.ori == 0 ? (y = js, b = Vs) : (y = Ms, b = Hs);
		let x = c.dir * (c.ori == 0 ? 1 : -1), S = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: vs
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
		let [T, E] = xs(e, n);
		if (a.fill != null || T != 0) {
			let t = S.fill = new Path2D(C), s = v(a.fillTo(e, n, a.min, a.max, T)), c = _(o[r]), l = _(o[i]);
			x == -1 && ([l, c] = [c, l]), y(t, l, s), y(t, c, s);
		}
		if (!a.spanGaps) {
			let l = [];
			w && l.push(...Es(o, s, r, i, x, _, t)), S.gaps = l = a.gaps(e, n, r, i, l), S.clip = ws(l, c.ori, f, p, m, h);
		}
		return E != 0 && (S.band = E == 2 ? [Cs(e, n, r, i, C, -1), Cs(e, n, r, i, C, 1)] : Cs(e, n, r, i, C, E)), S;
	});
}
function Ws(e) {
	let t = X(e.align, 1), n = X(e.ascDesc, !1), r = X(e.alignGaps, 0), i = X(e.extend, !1);
	return (e, a, o, s) => bs(e, a, (c, l, u, d, f, p, m, h, g, _, v) => {
		[o, s] = Ci(u, o, s);
		let y = c.pxRound, { left: b, width: x } = e.bbox, S = (e) => y(p(e, d, _, h)), C = (e) => y(m(e, f, v, g)), w = d.ori == 0 ? js : Ms, T = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: vs
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
		let [ee, te] = xs(e, a);
		if (c.fill != null || ee != 0) {
			let t = T.fill = new Path2D(E), n = C(c.fillTo(e, a, c.min, c.max, ee));
			w(t, M, n), w(t, j, n);
		}
		if (!c.spanGaps) {
			let i = [];
			i.push(...Es(l, u, o, s, D, S, r));
			let f = c.width * Y / 2, p = n || t == 1 ? f : -f, m = n || t == -1 ? -f : f;
			i.forEach((e) => {
				e[0] += p, e[1] += m;
			}), T.gaps = i = c.gaps(e, a, o, s, i), T.clip = ws(i, d.ori, h, g, _, v);
		}
		return te != 0 && (T.band = te == 2 ? [Cs(e, a, o, s, E, -1), Cs(e, a, o, s, E, 1)] : Cs(e, a, o, s, E, te)), T;
	});
}
function Gs(e, t, n, r, i, a, o = Zi) {
	if (e.length > 1) {
		let s = null;
		for (let c = 0, l = Infinity; c < e.length; c++) if (t[c] !== void 0) {
			if (s != null) {
				let t = zi(e[c] - e[s]);
				t < l && (l = t, o = zi(n(e[c], r, i, a) - n(e[s], r, i, a)));
			}
			s = c;
		}
	}
	return o;
}
function Ks(e) {
	e ||= ha;
	let t = X(e.size, [
		.6,
		Zi,
		1
	]), n = e.align || 0, r = e.gap || 0, i = e.radius;
	i = i == null ? [0, 0] : typeof i == "number" ? [i, 0] : i;
	let a = Z(i), o = 1 - t[0], s = X(t[1], Zi), c = X(t[2], 1), l = X(e.disp, ha), u = X(e.each, (e) => {}), { fill: d, stroke: f } = l;
	return (e, t, i, p) => bs(e, t, (m, h, g, _, v, y, b, x, S, C, w) => {
		let T = m.pxRound, E = n, D = r * Y, O = s * Y, k = c * Y, A, j;
		_.ori == 0 ? [A, j] = a(e, t) : [j, A] = a(e, t);
		let M = _.dir * (_.ori == 0 ? 1 : -1), ee = _.ori == 0 ? Ns : Ps, te = _.ori == 0 ? u : (e, t, n, r, i, a, o) => {
			u(e, t, n, i, r, o, a);
		}, ne = X(e.bands, ga).find((e) => e.series[0] == t), re = ne == null ? 0 : ne.dir, ie = m.fillTo(e, t, m.min, m.max, re), N = T(b(ie, v, w, S)), P, ae, oe, F = C, I = T(m.width * Y), se = !1, ce = null, le = null, ue = null, de = null;
		d != null && (I == 0 || f != null) && (se = !0, ce = d.values(e, t, i, p), le = /* @__PURE__ */ new Map(), new Set(ce).forEach((e) => {
			e != null && le.set(e, new Path2D());
		}), I > 0 && (ue = f.values(e, t, i, p), de = /* @__PURE__ */ new Map(), new Set(ue).forEach((e) => {
			e != null && de.set(e, new Path2D());
		})));
		let { x0: fe, size: pe } = l;
		if (fe != null && pe != null) {
			E = 1, h = fe.values(e, t, i, p), fe.unit == 2 && (h = h.map((t) => e.posToVal(x + t * C, _.key, !0)));
			let n = pe.values(e, t, i, p);
			ae = pe.unit == 2 ? n[0] * C : y(n[0], _, C, x) - y(0, _, C, x), F = Gs(h, g, y, _, C, x, F), oe = F - ae + D;
		} else F = Gs(h, g, y, _, C, x, F), oe = F * o + D, ae = F - oe;
		oe < 1 && (oe = 0), I >= ae / 2 && (I = 0), oe < 5 && (T = na);
		let me = oe > 0, L = F - oe - (me ? I : 0);
		ae = T($i(L, k, O)), P = (E == 0 ? ae / 2 : E == M ? 0 : ae) - E * M * ((E == 0 ? D / 2 : 0) + (me ? I / 2 : 0));
		let he = {
			stroke: null,
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: 0
		}, ge = se ? null : new Path2D(), _e = null;
		if (ne != null) _e = e.data[ne.series[1]];
		else {
			let { y0: n, y1: r } = l;
			n != null && r != null && (g = r.values(e, t, i, p), _e = n.values(e, t, i, p));
		}
		let ve = A * ae, ye = j * ae;
		for (let n = M == 1 ? i : p; n >= i && n <= p; n += M) {
			let r = g[n];
			if (r == null) continue;
			if (_e != null) {
				let e = _e[n] ?? 0;
				if (r - e == 0) continue;
				N = b(e, v, w, S);
			}
			let i = y(_.distr != 2 || l != null ? h[n] : n, _, C, x), a = b(X(r, ie), v, w, S), o = T(i - P), s = T(Wi(a, N)), c = T(Ui(a, N)), u = s - c;
			if (r != null) {
				let i = r < 0 ? ye : ve, a = r < 0 ? ve : ye;
				se ? (I > 0 && ue[n] != null && ee(de.get(ue[n]), o, c + Bi(I / 2), ae, Wi(0, u - I), i, a), ce[n] != null && ee(le.get(ce[n]), o, c + Bi(I / 2), ae, Wi(0, u - I), i, a)) : ee(ge, o, c + Bi(I / 2), ae, Wi(0, u - I), i, a), te(e, t, n, o - I / 2, c, ae + I, u);
			}
		}
		return I > 0 ? he.stroke = se ? de : ge : se || (he._fill = m.width == 0 ? m._fill : m._stroke ?? m._fill, he.width = 0), he.fill = se ? le : ge, he;
	});
}
function qs(e, t) {
	let n = X(t?.alignGaps, 0);
	return (t, r, i, a) => bs(t, r, (o, s, c, l, u, d, f, p, m, h, g) => {
		[i, a] = Ci(c, i, a);
		let _ = o.pxRound, v = (e) => _(d(e, l, h, p)), y = (e) => _(f(e, u, g, m)), b, x, S;
		l.ori == 0 ? (b = ks, S = js, x = Ls) : (b = As, S = Ms, x = Rs);
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
			flags: vs
		}, k = O.stroke, [A, j] = xs(t, r);
		if (o.fill != null || A != 0) {
			let e = O.fill = new Path2D(k), n = y(o.fillTo(t, r, o.min, o.max, A));
			S(e, T, n), S(e, w, n);
		}
		if (!o.spanGaps) {
			let e = [];
			e.push(...Es(s, c, i, a, C, v, n)), O.gaps = e = o.gaps(t, r, i, a, e), O.clip = ws(e, l.ori, p, m, h, g);
		}
		return j != 0 && (O.band = j == 2 ? [Cs(t, r, i, a, k, -1), Cs(t, r, i, a, k, 1)] : Cs(t, r, i, a, k, j)), O;
	});
}
function Js(e) {
	return qs(Ys, e);
}
function Ys(e, t, n, r, i, a) {
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
var Xs = /* @__PURE__ */ new Set();
function Zs() {
	for (let e of Xs) e.syncRect(!0);
}
Qr && (_i(qr, ei, Zs), _i(Jr, ei, Zs, !0), _i(Xr, ei, () => {
	pc.pxRatio = Y;
}));
var Qs = Us(), $s = zs();
function ec(e, t, n, r) {
	return (r ? [e[0], e[1]].concat(e.slice(2)) : [e[0]].concat(e.slice(1))).map((e, r) => nc(e, r, t, n));
}
function tc(e, t) {
	return e.map((e, n) => n == 0 ? {} : Da({}, t, e));
}
function nc(e, t, n, r) {
	return Da({}, t == 0 ? n : r, e);
}
function rc(e, t, n) {
	return t == null ? _a : [t, n];
}
var ic = rc;
function ac(e, t, n) {
	return t == null ? _a : Mi(t, n, Oi, !0);
}
function oc(e, t, n, r) {
	return t == null ? _a : Ei(t, n, e.scales[r].log, !1);
}
var sc = oc;
function cc(e, t, n, r) {
	return t == null ? _a : Di(t, n, e.scales[r].log, !1);
}
var lc = cc;
function uc(e, t, n, r, i) {
	let a = Wi(Qi(e), Qi(t)), o = t - e, s = yi(i / r * o, n);
	do {
		let e = n[s], t = r * e / o;
		if (t >= i && a + (e < 5 ? fa.get(e) : 0) <= 17) return [e, t];
	} while (++s < n.length);
	return [0, 0];
}
function dc(e) {
	let t, n;
	return e = e.replace(/(\d+)px/, (e, r) => (t = Vi((n = +r) * Y)) + "px"), [
		e,
		t,
		n
	];
}
function fc(e) {
	e.show && [e.font, e.labelFont].forEach((e) => {
		let t = Q(e[2] * Y, 1);
		e[0] = e[0].replace(/[0-9.]+px/, t + "px"), e[1] = t;
	});
}
function pc(e, t, n) {
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
	let l = r.root = ci(pr);
	if (e.id != null && (l.id = e.id), ii(l, e.class), e.title) {
		let t = ci(gr, l);
		t.textContent = e.title;
	}
	let u = si("canvas"), d = r.ctx = u.getContext("2d"), f = ci(_r, l);
	_i("click", f, (e) => {
		e.target === m && (K != Qt || nn != $t) && an.click(r, e);
	}, !0);
	let p = r.under = ci(vr, f);
	f.appendChild(u);
	let m = r.over = ci(yr, f);
	e = Ea(e);
	let h = +X(e.pxAlign, 1), g = Ds(h);
	(e.plugins || []).forEach((t) => {
		t.opts && (e = t.opts(r, e) || e);
	});
	let _ = e.ms || .001, v = r.series = i == 1 ? ec(e.series || [], qo, fs, !1) : tc(e.series || [null], ds), y = r.axes = ec(e.axes || [], Wo, os, !0), b = r.scales = {}, x = r.bands = e.bands || [];
	x.forEach((e) => {
		e.fill = Z(e.fill || null), e.dir = X(e.dir, -1);
	});
	let S = i == 2 ? v[1].facets[0].scale : v[0].scale, C = {
		axes: It,
		series: Tt
	}, w = (e.drawOrder || ["axes", "series"]).map((e) => C[e]);
	function T(e) {
		let t = e.distr == 3 ? (t) => qi(t > 0 ? t : e.clamp(r, t, e.min, e.max, e.key)) : e.distr == 4 ? (t) => Xi(t, e.asinh) : e.distr == 100 ? (t) => e.fwd(t) : (e) => e;
		return (n) => {
			let r = t(n), { _min: i, _max: a } = e, o = a - i;
			return (r - i) / o;
		};
	}
	function E(t) {
		let n = b[t];
		if (n == null) {
			let r = (e.scales || ha)[t] || ha;
			if (r.from != null) {
				E(r.from);
				let e = Da({}, b[r.from], r, { key: t });
				e.valToPct = T(e), b[t] = e;
			} else {
				n = b[t] = Da({}, t == S ? ms : hs, r), n.key = t;
				let e = n.time, a = n.range, o = va(a);
				if ((t != S || i == 2 && !e) && (o && (a[0] == null || a[1] == null) && (a = {
					min: a[0] == null ? ki : {
						mode: 1,
						hard: a[0],
						soft: a[0]
					},
					max: a[1] == null ? ki : {
						mode: 1,
						hard: a[1],
						soft: a[1]
					}
				}, o = !1), !o && Sa(a))) {
					let e = a;
					a = (t, n, r) => n == null ? _a : Mi(n, r, e);
				}
				n.range = Z(a || (e ? ic : t == S ? n.distr == 3 ? sc : n.distr == 4 ? lc : rc : n.distr == 3 ? oc : n.distr == 4 ? cc : ac)), n.auto = Z(!o && n.auto), n.clamp = Z(n.clamp || ps), n._min = n._max = null, n.valToPct = T(n);
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
	D.ori == 0 ? (ii(l, mr), k = a, A = o) : (ii(l, hr), k = o, A = a);
	let j = {};
	for (let e in b) {
		let t = b[e];
		(t.min != null || t.max != null) && (j[e] = {
			min: t.min,
			max: t.max
		}, t.min = t.max = null);
	}
	let M = e.tzDate || ((e) => new Date(Vi(e / _))), ee = e.fmtDate || Ga, te = _ == 1 ? mo(M) : _o(M), ne = yo(M, vo(_ == 1 ? po : go, ee)), re = wo(M, So(Co, ee)), ie = [], N = r.legend = Da({}, Do, e.legend), P = r.cursor = Da({}, Io, { drag: { y: i == 2 } }, e.cursor), ae = N.show, oe = P.show, F = N.markers;
	N.idxs = ie, F.width = Z(F.width), F.dash = Z(F.dash), F.stroke = Z(F.stroke), F.fill = Z(F.fill);
	let I, se, ce, le = [], ue = [], de, fe = !1, pe = {};
	if (N.live) {
		let e = v[1] ? v[1].values : null;
		fe = e != null, de = fe ? e(r, 1, 0) : { _: 0 };
		for (let e in de) pe[e] = Zr;
	}
	if (ae) {
		if (I = si("table", Er, l), ce = si("tbody", null, I), N.mount(r, I), fe) {
			se = si("thead", null, I, ce);
			let e = si("tr", null, se);
			for (var me in si("th", null, e), de) si("th", jr, e).textContent = me;
		} else ii(I, Or), N.live && ii(I, Dr);
	}
	let L = { show: !0 }, he = { show: !1 };
	function ge(e, t) {
		if (t == 0 && (fe || !N.live || i == 2)) return _a;
		let n = [], a = si("tr", kr, ce, ce.childNodes[t]);
		ii(a, e.class), e.show || ii(a, xr);
		let o = si("th", null, a);
		if (F.show) {
			let e = ci(Ar, o);
			if (t > 0) {
				let n = F.width(r, t);
				n && (e.style.border = n + "px " + F.dash(r, t) + " " + F.stroke(r, t)), e.style.background = F.fill(r, t);
			}
		}
		let s = ci(jr, o);
		for (var c in e.label instanceof HTMLElement ? s.appendChild(e.label) : s.textContent = e.label, t > 0 && (F.show || (s.style.color = e.width > 0 ? F.stroke(r, t) : F.fill(r, t)), ve("click", o, (t) => {
			if (P._lock) return;
			Ve(t);
			let n = v.indexOf(e);
			if ((t.ctrlKey || t.metaKey) != N.isolate) {
				let e = v.some((e, t) => t > 0 && t != n && e.show);
				v.forEach((t, r) => {
					r > 0 && fn(r, e ? r == n ? L : he : L, !0, Xn.setSeries);
				});
			} else fn(n, { show: !e.show }, !0, Xn.setSeries);
		}, !1), We && ve(Wr, o, (t) => {
			P._lock || (Ve(t), fn(v.indexOf(e), bn, !0, Xn.setSeries));
		}, !1)), de) {
			let e = si("td", Mr, a);
			e.textContent = "--", n.push(e);
		}
		return [a, n];
	}
	let _e = /* @__PURE__ */ new Map();
	function ve(e, t, n, i = !0) {
		let a = _e.get(t) || {}, o = P.bind[e](r, t, n, i);
		o && (_i(e, t, a[e] = o), _e.set(t, a));
	}
	function ye(e, t, n) {
		let r = _e.get(t) || {};
		for (let n in r) (e == null || n == e) && (vi(n, t, r[n]), delete r[n]);
		e ?? _e.delete(t);
	}
	let be = 0, xe = 0, R = 0, z = 0, Se = 0, Ce = 0, we = Se, Te = Ce, Ee = R, B = z, De = 0, V = 0, Oe = 0, H = 0;
	r.bbox = {};
	let ke = !1, Ae = !1, je = !1, Me = !1, Ne = !1, Pe = !1;
	function Fe(e, t, n) {
		(n || e != r.width || t != r.height) && Ie(e, t), Lt(!1), je = !0, Ae = !0, Ht();
	}
	function Ie(e, t) {
		r.width = be = R = e, r.height = xe = z = t, Se = Ce = 0, ze(), Be();
		let n = r.bbox;
		De = n.left = la(Se * Y, .5), V = n.top = la(Ce * Y, .5), Oe = n.width = la(R * Y, .5), H = n.height = la(z * Y, .5);
	}
	function Le() {
		let e = !1, t = 0;
		for (; !e;) {
			t++;
			let n = Pt(t), i = Ft(t);
			e = t == 3 || n && i, e || (Ie(r.width, r.height), Ae = !0);
		}
	}
	function Re({ width: e, height: t }) {
		Fe(e, t);
	}
	r.setSize = Re;
	function ze() {
		let e = !1, t = !1, n = !1, r = !1;
		y.forEach((i, a) => {
			if (i.show && i._show) {
				let { side: a, _size: o } = i, s = a % 2, c = o + (i.label == null ? 0 : i.labelSize);
				c > 0 && (s ? (R -= c, a == 3 ? (Se += c, r = !0) : n = !0) : (z -= c, a == 0 ? (Ce += c, e = !0) : t = !0));
			}
		}), $e[0] = e, $e[1] = n, $e[2] = t, $e[3] = r, R -= rt[1] + rt[3], Se += rt[3], z -= rt[2] + rt[0], Ce += rt[0];
	}
	function Be() {
		let e = Se + R, t = Ce + z, n = Se, r = Ce;
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
			let c = o, l = r(e, a, o, s) ?? Zi, u = l >= 0 && l < Zi, d = D.ori == 0 ? R : z, f = P.left, p = t[0], m = t[a];
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
			} else u && zi(f - k(p[o], D, d, 0)) > l && (c = null);
			return c;
		};
	}
	let Ve = (e) => {
		P.event = e;
	};
	P.idxs = ie, P._lock = !1;
	let He = P.points;
	He.show = Z(He.show), He.size = Z(He.size), He.stroke = Z(He.stroke), He.width = Z(He.width), He.fill = Z(He.fill);
	let Ue = r.focus = Da({}, e.focus || { alpha: .3 }, P.focus), We = Ue.prox >= 0, Ge = We && He.one, Ke = [], qe = [], Je = [];
	function Ye(e, t) {
		let n = He.show(r, t);
		if (n instanceof HTMLElement) return ii(n, Tr), ii(n, e.class), ui(n, -10, -10, R, z), m.insertBefore(n, Ke[t]), n;
	}
	function Xe(e, t) {
		if (i == 1 || t > 0) {
			let t = i == 1 && b[e.scale].time, n = e.value;
			e.value = t ? xa(n) ? wo(M, So(n, ee)) : n || re : n || as, e.label = e.label || (t ? Ko : Go);
		}
		if (Ge || t > 0) {
			e.width = e.width == null ? 1 : e.width, e.paths = e.paths || Qs || ia, e.fillTo = Z(e.fillTo || Ss), e.pxAlign = +X(e.pxAlign, h), e.pxRound = Ds(e.pxAlign), e.stroke = Z(e.stroke || null), e.fill = Z(e.fill || null), e._stroke = e._fill = e._paths = e._focus = null;
			let t = ss(Wi(1, e.width), 1), n = e.points = Da({}, {
				size: t,
				width: Wi(1, t * .2),
				stroke: e.stroke,
				space: t * 2,
				paths: $s,
				_stroke: null,
				_fill: null
			}, e.points);
			n.show = Z(n.show), n.filter = Z(n.filter), n.fill = Z(n.fill), n.stroke = Z(n.stroke), n.paths = Z(n.paths), n.pxAlign = e.pxAlign;
		}
		if (ae) {
			let n = ge(e, t);
			le.splice(t, 0, n[0]), ue.splice(t, 0, n[1]), N.values.push(null);
		}
		if (oe) {
			ie.splice(t, 0, null);
			let n = null;
			Ge ? t == 0 && (n = Ye(e, t)) : t > 0 && (n = Ye(e, t)), Ke.splice(t, 0, n), qe.splice(t, 0, 0), Je.splice(t, 0, 0);
		}
		Jn("addSeries", t);
	}
	function Ze(e, t) {
		t ??= v.length, e = i == 1 ? nc(e, t, qo, fs) : nc(e, t, {}, ds), v.splice(t, 0, e), Xe(v[t], t);
	}
	r.addSeries = Ze;
	function Qe(e) {
		if (v.splice(e, 1), ae) {
			N.values.splice(e, 1), ue.splice(e, 1);
			let t = le.splice(e, 1)[0];
			ye(null, t.firstChild), t.remove();
		}
		oe && (ie.splice(e, 1), Ke.splice(e, 1)[0].remove(), qe.splice(e, 1), Je.splice(e, 1)), Jn("delSeries", e);
	}
	r.delSeries = Qe;
	let $e = [
		!1,
		!1,
		!1,
		!1
	];
	function et(e, t) {
		if (e._show = e.show, e.show) {
			let n = e.side % 2, i = b[e.scale];
			i ??= (e.scale = n ? v[1].scale : S, b[e.scale]);
			let a = i.time;
			e.size = Z(e.size), e.space = Z(e.space), e.rotate = Z(e.rotate), va(e.incrs) && e.incrs.forEach((e) => {
				!fa.has(e) && fa.set(e, pa(e));
			}), e.incrs = Z(e.incrs || (i.distr == 2 ? Qa : a ? _ == 1 ? fo : ho : $a)), e.splits = Z(e.splits || (a && i.distr == 1 ? te : i.distr == 3 ? Xo : i.distr == 4 ? Zo : Yo)), e.stroke = Z(e.stroke), e.grid.stroke = Z(e.grid.stroke), e.ticks.stroke = Z(e.ticks.stroke), e.border.stroke = Z(e.border.stroke);
			let o = e.values;
			e.values = va(o) && !va(o[0]) ? Z(o) : a ? va(o) ? yo(M, vo(o, ee)) : xa(o) ? bo(M, o) : o || ne : o || Jo, e.filter = Z(e.filter || (i.distr >= 3 && i.log == 10 ? rs : i.distr == 3 && i.log == 2 ? is : ra)), e.font = dc(e.font), e.labelFont = dc(e.labelFont), e._size = e.size(r, null, t, 0), e._space = e._rotate = e._incrs = e._found = e._splits = e._values = null, e._size > 0 && ($e[t] = !0, e._el = ci(br, f));
		}
	}
	function tt(e, t, n, r) {
		let [i, a, o, s] = n, c = t % 2, l = 0;
		return c == 0 && (s || a) && (l = t == 0 && !i || t == 2 && !o ? Vi(Wo.size / 3) : 0), c == 1 && (i || o) && (l = t == 1 && !a || t == 3 && !s ? Vi(os.size / 2) : 0), l;
	}
	let nt = r.padding = (e.padding || [
		tt,
		tt,
		tt,
		tt
	]).map((e) => Z(X(e, tt))), rt = r._padding = nt.map((e, t) => e(r, t, $e, 0)), U, it = null, at = null, ot = i == 1 ? v[0].idxs : null, st = null, W = !1;
	function ct(e, n) {
		if (t = e ?? [], r.data = r._data = t, i == 2) {
			U = 0;
			for (let e = 1; e < v.length; e++) U += t[e][0].length;
		} else {
			t.length == 0 && (r.data = r._data = t = [[]]), st = t[0], U = st.length;
			let e = t;
			if (O == 2) {
				e = t.slice();
				let n = e[0] = Array(U);
				for (let e = 0; e < U; e++) n[e] = e;
			}
			r._data = t = e;
		}
		if (Lt(!0), Jn("setData"), O == 2 && (je = !0), n !== !1) {
			let e = D;
			e.auto(r, W) ? G() : dn(S, e.min, e.max), Me ||= P.left >= 0, Pe = !0, Ht();
		}
	}
	r.setData = ct;
	function G() {
		W = !0;
		let e, n;
		i == 1 && (U > 0 ? (it = ot[0] = 0, at = ot[1] = U - 1, e = t[0][it], n = t[0][at], O == 2 ? (e = it, n = at) : e == n && (O == 3 ? [e, n] = Ei(e, e, D.log, !1) : O == 4 ? [e, n] = Di(e, e, D.log, !1) : D.time ? n = e + Vi(86400 / _) : [e, n] = Mi(e, n, Oi, !0))) : (it = ot[0] = e = null, at = ot[1] = n = null)), dn(S, e, n);
	}
	let lt, ut, dt, ft, pt, mt, ht, gt, _t, vt;
	function yt(e, t, n, r, i, a) {
		e ??= Br, n ??= ga, r ??= "butt", i ??= Br, a ??= "round", e != lt && (d.strokeStyle = lt = e), i != ut && (d.fillStyle = ut = i), t != dt && (d.lineWidth = dt = t), a != pt && (d.lineJoin = pt = a), r != mt && (d.lineCap = mt = r), n != ft && d.setLineDash(ft = n);
	}
	function bt(e, t, n, r) {
		t != ut && (d.fillStyle = ut = t), e != ht && (d.font = ht = e), n != gt && (d.textAlign = gt = n), r != _t && (d.textBaseline = _t = r);
	}
	function xt(e, t, n, i, a = 0) {
		if (i.length > 0 && e.auto(r, W) && (t == null || t.min == null)) {
			let t = X(it, 0), r = X(at, i.length - 1), o = n.min == null ? Ti(i, t, r, a, e.distr == 3) : [n.min, n.max];
			e.min = Ui(e.min, n.min = o[0]), e.max = Wi(e.max, n.max = o[1]);
		}
	}
	let St = {
		min: null,
		max: null
	};
	function Ct() {
		for (let e in b) {
			let t = b[e];
			j[e] == null && (t.min == null || j[S] != null && t.auto(r, W)) && (j[e] = St);
		}
		for (let e in b) {
			let t = b[e];
			j[e] == null && t.from != null && j[t.from] != null && (j[e] = St);
		}
		j[S] != null && Lt(!0);
		let e = {};
		for (let t in j) {
			let n = j[t];
			if (n != null) {
				let a = e[t] = Ea(b[t], Ca);
				if (n.min != null) Da(a, n);
				else if (t != S || i == 2) {
					if (U == 0 && a.from == null) {
						let e = a.range(r, null, null, t);
						a.min = e[0], a.max = e[1];
					} else a.min = Zi, a.max = -Infinity;
				}
			}
		}
		if (U > 0) {
			v.forEach((n, a) => {
				if (i == 1) {
					let i = n.scale, o = j[i];
					if (o == null) return;
					let s = e[i];
					if (a == 0) {
						let e = s.range(r, s.min, s.max, i);
						s.min = e[0], s.max = e[1], it = yi(s.min, t[0]), at = yi(s.max, t[0]), at - it > 1 && (t[0][it] < s.min && it++, t[0][at] > s.max && at--), n.min = st[it], n.max = st[at];
					} else n.show && n.auto && xt(s, o, n, t[a], n.sorted);
					n.idxs[0] = it, n.idxs[1] = at;
				} else if (a > 0 && n.show && n.auto) {
					let [r, i] = n.facets, o = r.scale, s = i.scale, [c, l] = t[a], u = e[o], d = e[s];
					u != null && xt(u, j[o], r, c, r.sorted), d != null && xt(d, j[s], i, l, i.sorted), n.min = i.min, n.max = i.max;
				}
			});
			for (let t in e) {
				let n = e[t], i = j[t];
				if (n.from == null && (i == null || i.min == null)) {
					let e = n.range(r, n.min == Zi ? null : n.min, n.max == -Infinity ? null : n.max, t);
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
				i._min = e == 3 ? qi(i.min) : e == 4 ? Xi(i.min, i.asinh) : e == 100 ? i.fwd(i.min) : i.min, i._max = e == 3 ? qi(i.max) : e == 4 ? Xi(i.max, i.asinh) : e == 100 ? i.fwd(i.max) : i.max, n[t] = a = !0;
			}
		}
		if (a) {
			v.forEach((e, t) => {
				i == 2 ? t > 0 && n.y && (e._paths = null) : n[e.scale] && (e._paths = null);
			});
			for (let e in n) je = !0, Jn("setScale", e);
			oe && P.left >= 0 && (Me = Pe = !0);
		}
		for (let e in j) j[e] = null;
	}
	function wt(e) {
		let t = $i(it - 1, 0, U - 1), n = $i(at + 1, 0, U - 1);
		for (; e[t] == null && t > 0;) t--;
		for (; e[n] == null && n < U - 1;) n++;
		return [t, n];
	}
	function Tt() {
		if (U > 0) {
			let e = v.some((e) => e._focus) && vt != Ue.alpha;
			e && (d.globalAlpha = vt = Ue.alpha), v.forEach((e, n) => {
				if (n > 0 && e.show && (Et(n, !1), Et(n, !0), e._paths == null)) {
					let a = vt;
					vt != e.alpha && (d.globalAlpha = vt = e.alpha);
					let o = i == 2 ? [0, t[n][0].length - 1] : wt(t[n]);
					e._paths = e.paths(r, n, o[0], o[1]), vt != a && (d.globalAlpha = vt = a);
				}
			}), v.forEach((e, t) => {
				if (t > 0 && e.show) {
					let n = vt;
					vt != e.alpha && (d.globalAlpha = vt = e.alpha), e._paths != null && Dt(t, !1);
					{
						let n = e._paths == null ? null : e._paths.gaps, i = e.points.show(r, t, it, at, n), a = e.points.filter(r, t, i, n);
						(i || a) && (e.points._paths = e.points.paths(r, t, it, at, a), Dt(t, !0));
					}
					vt != n && (d.globalAlpha = vt = n), Jn("drawSeries", t);
				}
			}), e && (d.globalAlpha = vt = 1);
		}
	}
	function Et(e, t) {
		let n = t ? v[e].points : v[e];
		n._stroke = n.stroke(r, e), n._fill = n.fill(r, e);
	}
	function Dt(e, t) {
		let n = t ? v[e].points : v[e], { stroke: r, fill: i, clip: a, flags: o, _stroke: s = n._stroke, _fill: c = n._fill, _width: l = n.width } = n._paths;
		l = Q(l * Y, 3);
		let u = null, f = l % 2 / 2;
		t && c == null && (c = l > 0 ? "#fff" : s);
		let p = n.pxAlign == 1 && f > 0;
		if (p && d.translate(f, f), !t) {
			let e = De - l / 2, t = V - l / 2, n = Oe + l, r = H + l;
			u = new Path2D(), u.rect(e, t, n, r);
		}
		t ? kt(s, l, n.dash, n.cap, c, r, i, o, a) : Ot(e, s, l, n.dash, n.cap, c, r, i, o, u, a), p && d.translate(-f, -f);
	}
	function Ot(e, n, i, a, o, s, c, l, u, d, f) {
		let p = !1;
		u != 0 && x.forEach((m, h) => {
			if (m.series[0] == e) {
				let e = v[m.series[1]], g = t[m.series[1]], _ = (e._paths || ha).band;
				va(_) && (_ = m.dir == 1 ? _[0] : _[1]);
				let y, b = null;
				e.show && _ && Ni(g, it, at) ? (b = m.fill(r, h) || s, y = e._paths.clip) : _ = null, kt(n, i, a, o, b, c, l, u, d, f, y, _), p = !0;
			}
		}), p || kt(n, i, a, o, s, c, l, u, d, f);
	}
	function kt(e, t, n, r, i, a, o, s, c, l, u, f) {
		yt(e, t, n, r, i), (c || l || f) && (d.save(), c && d.clip(c), l && d.clip(l)), f ? (s & 3) == 3 ? (d.clip(f), u && d.clip(u), jt(i, o), At(e, a, t)) : s & ys ? (jt(i, o), d.clip(f), At(e, a, t)) : s & vs && (d.save(), d.clip(f), u && d.clip(u), jt(i, o), d.restore(), At(e, a, t)) : (jt(i, o), At(e, a, t)), (c || l || f) && d.restore();
	}
	function At(e, t, n) {
		n > 0 && (t instanceof Map ? t.forEach((e, t) => {
			d.strokeStyle = lt = t, d.stroke(e);
		}) : t != null && e && d.stroke(t));
	}
	function jt(e, t) {
		t instanceof Map ? t.forEach((e, t) => {
			d.fillStyle = ut = t, d.fill(e);
		}) : t != null && e && d.fill(t);
	}
	function Mt(e, t, n, i) {
		let a = y[e], o;
		if (i <= 0) o = [0, 0];
		else {
			let s = a._space = a.space(r, e, t, n, i);
			o = uc(t, n, a._incrs = a.incrs(r, e, t, n, i, s), i, s);
		}
		return a._found = o;
	}
	function Nt(e, t, n, r, i, a, o, s, c, l) {
		let u = o % 2 / 2;
		h == 1 && d.translate(u, u), yt(s, o, c, l, s), d.beginPath();
		let f, p, m, g, _ = i + (r == 0 || r == 3 ? -a : a);
		n == 0 ? (p = i, g = _) : (f = i, m = _);
		for (let r = 0; r < e.length; r++) t[r] != null && (n == 0 ? f = m = e[r] : p = g = e[r], d.moveTo(f, p), d.lineTo(m, g));
		d.stroke(), h == 1 && d.translate(-u, -u);
	}
	function Pt(e) {
		let t = !0;
		return y.forEach((n, i) => {
			if (!n.show) return;
			let a = b[n.scale];
			if (a.min == null) {
				n._show && (t = !1, n._show = !1, Lt(!1));
				return;
			}
			n._show || (t = !1, n._show = !0, Lt(!1));
			let o = n.side, s = o % 2, { min: c, max: l } = a, [u, d] = Mt(i, c, l, s == 0 ? R : z);
			if (d == 0) return;
			let f = a.distr == 2, p = n._splits = n.splits(r, i, c, l, u, d, f), m = a.distr == 2 ? p.map((e) => st[e]) : p, h = a.distr == 2 ? st[p[1]] - st[p[0]] : u, g = n._values = n.values(r, n.filter(r, m, i, d, h), i, d, h);
			n._rotate = o == 2 ? n.rotate(r, g, i, d) : 0;
			let _ = n._size;
			n._size = Hi(n.size(r, g, i, e)), _ != null && n._size != _ && (t = !1);
		}), t;
	}
	function Ft(e) {
		let t = !0;
		return nt.forEach((n, i) => {
			let a = n(r, i, $e, e);
			a != rt[i] && (t = !1), rt[i] = a;
		}), t;
	}
	function It() {
		for (let e = 0; e < y.length; e++) {
			let t = y[e];
			if (!t.show || !t._show) continue;
			let n = t.side, i = n % 2, a, o, c = t.stroke(r, e), l = n == 0 || n == 3 ? -1 : 1, [u, f] = t._found;
			if (t.label != null) {
				let s = t.labelGap * l, p = Vi((t._lpos + s) * Y);
				bt(t.labelFont[0], c, "center", n == 2 ? Fr : Ir), d.save(), i == 1 ? (a = o = 0, d.translate(p, Vi(V + H / 2)), d.rotate((n == 3 ? -Ri : Ri) / 2)) : (a = Vi(De + Oe / 2), o = p);
				let m = ea(t.label) ? t.label(r, e, u, f) : t.label;
				d.fillText(m, a, o), d.restore();
			}
			if (f == 0) continue;
			let p = b[t.scale], m = i == 0 ? Oe : H, h = i == 0 ? De : V, _ = t._splits, v = p.distr == 2 ? _.map((e) => st[e]) : _, x = p.distr == 2 ? st[_[1]] - st[_[0]] : u, S = t.ticks, C = t.border, w = S.show ? S.size : 0, T = Vi(w * Y), E = Vi((t.alignTo == 2 ? t._size - w - t.gap : t.gap) * Y), D = t._rotate * -Ri / 180, O = g(t._pos * Y), k = O + (T + E) * l;
			o = i == 0 ? k : 0, a = i == 1 ? k : 0;
			let A = t.font[0];
			bt(A, c, t.align == 1 ? Lr : t.align == 2 ? Rr : D > 0 ? Lr : D < 0 ? Rr : i == 0 ? "center" : n == 3 ? Rr : Lr, D || i == 1 ? "middle" : n == 2 ? Fr : Ir);
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
			S.show && Nt(M, S.filter(r, v, e, f, x), i, n, O, T, Q(S.width * Y, 3), S.stroke(r, e), S.dash, S.cap);
			let te = t.grid;
			te.show && Nt(M, te.filter(r, v, e, f, x), i, i == 0 ? 2 : 1, i == 0 ? V : De, i == 0 ? H : Oe, Q(te.width * Y, 3), te.stroke(r, e), te.dash, te.cap), C.show && Nt([O], [1], +(i == 0), i == 0 ? 1 : 2, i == 1 ? V : De, i == 1 ? H : Oe, Q(C.width * Y, 3), C.stroke(r, e), C.dash, C.cap);
		}
		Jn("drawAxes");
	}
	function Lt(e) {
		v.forEach((t, n) => {
			n > 0 && (t._paths = null, e && (i == 1 ? (t.min = null, t.max = null) : t.facets.forEach((e) => {
				e.min = null, e.max = null;
			})));
		});
	}
	let Rt = !1, zt = !1, Bt = [];
	function Vt() {
		zt = !1;
		for (let e = 0; e < Bt.length; e++) Jn(...Bt[e]);
		Bt.length = 0;
	}
	function Ht() {
		Rt ||= (Na(Wt), !0);
	}
	function Ut(e, t = !1) {
		Rt = !0, zt = t, e(r), Wt(), t && Bt.length > 0 && queueMicrotask(Vt);
	}
	r.batch = Ut;
	function Wt() {
		if (ke &&= (Ct(), !1), je &&= (Le(), !1), Ae) {
			if (oi(p, Lr, Se), oi(p, Fr, Ce), oi(p, Nr, R), oi(p, Pr, z), oi(m, Lr, Se), oi(m, Fr, Ce), oi(m, Nr, R), oi(m, Pr, z), oi(f, Nr, be), oi(f, Pr, xe), u.width = Vi(be * Y), u.height = Vi(xe * Y), y.forEach(({ _el: e, _show: t, _size: n, _pos: r, side: i }) => {
				if (e != null) {
					if (t) {
						let t = i === 3 || i === 0 ? n : 0, a = i % 2 == 1;
						oi(e, a ? "left" : "top", r - t), oi(e, a ? "width" : "height", n), oi(e, a ? "top" : "left", a ? Ce : Se), oi(e, a ? "height" : "width", a ? z : R), ai(e, xr);
					} else ii(e, xr);
				}
			}), lt = ut = dt = pt = mt = ht = gt = _t = ft = null, vt = 1, Mn(!0), Se != we || Ce != Te || R != Ee || z != B) {
				Lt(!1);
				let e = R / Ee, t = z / B;
				if (oe && !Me && P.left >= 0) {
					P.left *= e, P.top *= t, Jt && ui(Jt, Vi(P.left), 0, R, z), Yt && ui(Yt, 0, Vi(P.top), R, z);
					for (let n = 0; n < Ke.length; n++) {
						let r = Ke[n];
						r != null && (qe[n] *= e, Je[n] *= t, ui(r, Hi(qe[n]), Hi(Je[n]), R, z));
					}
				}
				if (q.show && !Ne && q.left >= 0 && q.width > 0) {
					q.left *= e, q.width *= e, q.top *= t, q.height *= t;
					for (let e in Fn) oi(cn, e, q[e]);
				}
				we = Se, Te = Ce, Ee = R, B = z;
			}
			Jn("setSize"), Ae = !1;
		}
		be > 0 && xe > 0 && (d.clearRect(0, 0, u.width, u.height), Jn("drawClear"), w.forEach((e) => e()), Jn("draw")), q.show && Ne && (ln(q), Ne = !1), oe && Me && (An(null, !0, !1), Me = !1), N.show && N.live && Pe && (On(), Pe = !1), c || (c = !0, r.status = 1, Jn("ready")), W = !1, Rt = !1;
	}
	r.redraw = (e, t) => {
		je = t || !1, e === !1 ? Ht() : dn(S, D.min, D.max);
	};
	function Gt(e, n) {
		let i = b[e];
		if (i.from == null) {
			if (U == 0) {
				let t = i.range(r, n.min, n.max, e);
				n.min = t[0], n.max = t[1];
			}
			if (n.min > n.max) {
				let e = n.min;
				n.min = n.max, n.max = e;
			}
			if (U > 1 && n.min != null && n.max != null && n.max - n.min < 1e-16) return;
			e == S && i.distr == 2 && U > 0 && (n.min = yi(n.min, t[0]), n.max = yi(n.max, t[0]), n.min == n.max && n.max++), j[e] = n, ke = !0, Ht();
		}
	}
	r.setScale = Gt;
	let Kt, qt, Jt, Yt, Xt, Zt, Qt, $t, en, tn, K, nn, rn = !1, an = P.drag, on = an.x, sn = an.y;
	oe && (P.x && (Kt = ci(Cr, m)), P.y && (qt = ci(wr, m)), D.ori == 0 ? (Jt = Kt, Yt = qt) : (Jt = qt, Yt = Kt), K = P.left, nn = P.top);
	let q = r.select = Da({
		show: !0,
		over: !0,
		left: 0,
		width: 0,
		top: 0,
		height: 0
	}, e.select), cn = q.show ? ci(Sr, q.over ? m : p) : null;
	function ln(e, t) {
		if (q.show) {
			for (let t in e) q[t] = e[t], t in Fn && oi(cn, t, e[t]);
			t !== !1 && Jn("setSelect");
		}
	}
	r.setSelect = ln;
	function un(e) {
		if (v[e].show) ae && ai(le[e], xr);
		else if (ae && ii(le[e], xr), oe) {
			let t = Ge ? Ke[0] : Ke[e];
			t != null && ui(t, -10, -10, R, z);
		}
	}
	function dn(e, t, n) {
		Gt(e, {
			min: t,
			max: n
		});
	}
	function fn(e, t, n, a) {
		t.focus != null && xn(e), t.show != null && v.forEach((n, r) => {
			r > 0 && (e == r || e == null) && (n.show = t.show, un(r), i == 2 ? (dn(n.facets[0].scale, null, null), dn(n.facets[1].scale, null, null)) : dn(n.scale, null, null), Ht());
		}), n !== !1 && Jn("setSeries", e, t), a && $n("setSeries", r, e, t);
	}
	r.setSeries = fn;
	function pn(e, t) {
		Da(x[e], t);
	}
	function mn(e, t) {
		e.fill = Z(e.fill || null), e.dir = X(e.dir, -1), t ??= x.length, x.splice(t, 0, e);
	}
	function hn(e) {
		e == null ? x.length = 0 : x.splice(e, 1);
	}
	r.addBand = mn, r.setBand = pn, r.delBand = hn;
	function gn(e, t) {
		v[e].alpha = t, oe && Ke[e] != null && (Ke[e].style.opacity = t), ae && le[e] && (le[e].style.opacity = t);
	}
	let _n, vn, yn, bn = { focus: !0 };
	function xn(e) {
		if (e != yn) {
			let t = e == null, n = Ue.alpha != 1;
			v.forEach((r, a) => {
				if (i == 1 || a > 0) {
					let i = t || a == 0 || a == e;
					r._focus = t ? null : i, n && gn(a, i ? 1 : Ue.alpha);
				}
			}), yn = e, n && Ht();
		}
	}
	ae && We && ve(Gr, I, (e) => {
		P._lock || (Ve(e), yn != null && fn(null, bn, !0, Xn.setSeries));
	});
	function Sn(e, t, n) {
		let r = b[t];
		n && (e = e / Y - (r.ori == 1 ? Ce : Se));
		let i = R;
		r.ori == 1 && (i = z, e = i - e), r.dir == -1 && (e = i - e);
		let a = r._min, o = r._max, s = e / i, c = a + (o - a) * s, l = r.distr;
		return l == 3 ? Gi(10, c) : l == 4 ? Yi(c, r.asinh) : l == 100 ? r.bwd(c) : c;
	}
	function Cn(e, n) {
		return yi(Sn(e, S, n), t[0], it, at);
	}
	r.valToIdx = (e) => yi(e, t[0]), r.posToIdx = Cn, r.posToVal = Sn, r.valToPos = (e, t, n) => b[t].ori == 0 ? a(e, b[t], n ? Oe : R, n ? De : 0) : o(e, b[t], n ? H : z, n ? V : 0), r.setCursor = (e, t, n) => {
		K = e.left, nn = e.top, An(null, t, n);
	};
	function wn(e, t) {
		oi(cn, Lr, q.left = e), oi(cn, Nr, q.width = t);
	}
	function Tn(e, t) {
		oi(cn, Fr, q.top = e), oi(cn, Pr, q.height = t);
	}
	let En = D.ori == 0 ? wn : Tn, J = D.ori == 1 ? wn : Tn;
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
		}) : ba(e.idx) || ie.fill(e.idx), N.idx = ie[0]), ae && N.live) {
			for (let e = 0; e < v.length; e++) (e > 0 || i == 1 && !fe) && kn(e, ie[e]);
			Dn();
		}
		Pe = !1, t !== !1 && Jn("setLegend");
	}
	r.setLegend = On;
	function kn(e, n) {
		let i = v[e], a = e == 0 && O == 2 ? st : t[e], o;
		fe ? o = i.values(r, e, n) ?? pe : (o = i.value(r, n == null ? null : a[n], e, n), o = o == null ? pe : { _: o }), N.values[e] = o;
	}
	function An(e, n, a) {
		en = K, tn = nn, [K, nn] = P.move(r, K, nn), P.left = K, P.top = nn, oe && (Jt && ui(Jt, Vi(K), 0, R, z), Yt && ui(Yt, 0, Vi(nn), R, z));
		let o, s = it > at;
		_n = Zi, vn = null;
		let c = D.ori == 0 ? R : z, l = D.ori == 1 ? R : z;
		if (K < 0 || U == 0 || s) {
			o = P.idx = null;
			for (let e = 0; e < v.length; e++) {
				let t = Ke[e];
				t != null && ui(t, -10, -10, R, z);
			}
			We && fn(null, bn, !0, e == null && Xn.setSeries), N.live && (ie.fill(o), Pe = !0);
		} else {
			let e, n, a;
			i == 1 && (e = D.ori == 0 ? K : nn, n = Sn(e, S), o = P.idx = yi(n, t[0], it, at), a = k(t[0][o], D, c, 0));
			let s = -10, u = -10, d = 0, f = 0, p = !0, m = "", h = "";
			for (let e = +(i == 2); e < v.length; e++) {
				let g = v[e], _ = ie[e], y = _ == null ? null : i == 1 ? t[e][_] : t[e][1][_], x = P.dataIdx(r, e, o, n), S = x == null ? null : i == 1 ? t[e][x] : t[e][1][x];
				if (Pe = Pe || S != y || x != _, ie[e] = x, e > 0 && g.show) {
					let n = x == null ? -10 : x == o ? a : k(i == 1 ? t[0][x] : t[e][0][x], D, c, 0), _ = S == null ? -10 : A(S, i == 1 ? b[g.scale] : b[g.facets[1].scale], l, 0);
					if (We && S != null) {
						let t = D.ori == 1 ? K : nn, n = zi(Ue.dist(r, e, x, _, t));
						if (n < _n) {
							let r = Ue.bias;
							if (r != 0) {
								let i = Sn(t, g.scale), a = S >= 0 ? 1 : -1, o = i >= 0 ? 1 : -1;
								o == a && (o == 1 ? r == 1 ? S >= i : S <= i : r == 1 ? S <= i : S >= i) && (_n = n, vn = e);
							} else _n = n, vn = e;
						}
					}
					if (Pe || Ge) {
						let t, i;
						D.ori == 0 ? (t = n, i = _) : (t = _, i = n);
						let a, o, c, l, g, v, y = !0, b = He.bbox;
						if (b != null) {
							y = !1;
							let t = b(r, e);
							c = t.left, l = t.top, a = t.width, o = t.height;
						} else c = t, l = i, a = o = He.size(r, e);
						if (v = He.fill(r, e), g = He.stroke(r, e), Ge) e == vn && _n <= Ue.prox && (s = c, u = l, d = a, f = o, p = y, m = v, h = g);
						else {
							let t = Ke[e];
							t != null && (qe[e] = c, Je[e] = l, mi(t, a, o, y), fi(t, v, g), ui(t, Hi(c), Hi(l), R, z));
						}
					}
				}
			}
			if (Ge) {
				let e = Ue.prox;
				if (Pe || (yn == null ? _n <= e : _n > e || vn != yn)) {
					let e = Ke[0];
					e != null && (qe[0] = s, Je[0] = u, mi(e, d, f, p), fi(e, m, h), ui(e, Hi(s), Hi(u), R, z));
				}
			}
		}
		if (q.show && rn) {
			if (e != null) {
				let [t, n] = Xn.scales, [r, i] = Xn.match, [a, o] = e.cursor.sync.scales, s = e.cursor.drag;
				if (on = s._x, sn = s._y, on || sn) {
					let { left: s, top: u, width: d, height: f } = e.select, p = e.scales[a].ori, m = e.posToVal, h, g, _, v, y, x = t != null && r(t, a), S = n != null && i(n, o);
					x && on ? (p == 0 ? (h = s, g = d) : (h = u, g = f), _ = b[t], v = k(m(h, a), _, c, 0), y = k(m(h + g, a), _, c, 0), En(Ui(v, y), zi(y - v))) : En(0, c), S && sn ? (p == 1 ? (h = s, g = d) : (h = u, g = f), _ = b[n], v = A(m(h, o), _, l, 0), y = A(m(h + g, o), _, l, 0), J(Ui(v, y), zi(y - v))) : J(0, l);
				} else In();
			} else {
				let e = zi(en - Xt), t = zi(tn - Zt);
				if (D.ori == 1) {
					let n = e;
					e = t, t = n;
				}
				on = an.x && e >= an.dist, sn = an.y && t >= an.dist;
				let n = an.uni;
				n == null ? an.x && an.y && (on || sn) && (on = sn = !0) : on && sn && (on = e >= n, sn = t >= n, !on && !sn && (t > e ? sn = !0 : on = !0));
				let r, i;
				on && (D.ori == 0 ? (r = Qt, i = K) : (r = $t, i = nn), En(Ui(r, i), zi(i - r)), sn || J(0, l)), sn && (D.ori == 1 ? (r = Qt, i = K) : (r = $t, i = nn), J(Ui(r, i), zi(i - r)), on || En(0, c)), !on && !sn && (En(0, 0), J(0, 0));
			}
		}
		if (an._x = on, an._y = sn, e == null) {
			if (a) {
				if (Zn != null) {
					let [e, t] = Xn.scales;
					Xn.values[0] = e == null ? null : Sn(D.ori == 0 ? K : nn, e), Xn.values[1] = t == null ? null : Sn(D.ori == 1 ? K : nn, t);
				}
				$n(Vr, r, K, nn, R, z, o);
			}
			if (We) {
				let e = a && Xn.setSeries, t = Ue.prox;
				yn == null ? _n <= t && fn(vn, bn, !0, e) : _n > t ? fn(null, bn, !0, e) : vn != yn && fn(vn, bn, !0, e);
			}
		}
		Pe && (N.idx = o, On()), n !== !1 && Jn("setCursor");
	}
	let jn = null;
	Object.defineProperty(r, "rect", { get() {
		return jn ?? Mn(!1), jn;
	} });
	function Mn(e = !1) {
		e ? jn = null : (jn = m.getBoundingClientRect(), Jn("syncRect", jn));
	}
	function Nn(e, t, n, r, i, a, o) {
		P._lock || rn && e != null && e.movementX == 0 && e.movementY == 0 || (Pn(e, t, n, r, i, a, o, !1, e != null), e == null ? An(t, !0, !1) : An(null, !0, !0));
	}
	function Pn(e, t, n, i, a, o, c, l, u) {
		if (jn ?? Mn(!1), Ve(e), e != null) n = e.clientX - jn.left, i = e.clientY - jn.top;
		else {
			if (n < 0 || i < 0) {
				K = -10, nn = -10;
				return;
			}
			let [e, r] = Xn.scales, c = t.cursor.sync, [l, u] = c.values, [d, f] = c.scales, [p, m] = Xn.match, h = t.axes[0].side % 2 == 1, g = D.ori == 0 ? R : z, _ = D.ori == 1 ? R : z, v = h ? o : a, y = h ? a : o, x = h ? i : n, S = h ? n : i;
			if (n = d == null ? x / v * g : p(e, d) ? s(l, b[e], g, 0) : -10, i = f == null ? S / y * _ : m(r, f) ? s(u, b[r], _, 0) : -10, D.ori == 1) {
				let e = n;
				n = i, i = e;
			}
		}
		u && (t == null || t.cursor.event.type == Vr) && ((n <= 1 || n >= R - 1) && (n = la(n, R)), (i <= 1 || i >= z - 1) && (i = la(i, z))), l ? (Xt = n, Zt = i, [Qt, $t] = P.move(r, n, i)) : (K = n, nn = i);
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
		rn = !0, on = sn = an._x = an._y = !1, Pn(e, t, n, i, a, o, s, !0, !1), e != null && (ve(Ur, $r, Hn, !1), $n(Hr, r, Qt, $t, R, z, null));
		let { left: c, top: l, width: u, height: d } = q;
		Ln = c, Rn = l, zn = u, Bn = d;
	}
	function Hn(e, t, n, i, a, o, s) {
		rn = an._x = an._y = !1, Pn(e, t, n, i, a, o, s, !1, !0);
		let { left: c, top: l, width: u, height: d } = q, f = u > 0 || d > 0, p = Ln != c || Rn != l || zn != u || Bn != d;
		if (f && p && ln(q), an.setScale && f && p) {
			let e = c, t = u, n = l, r = d;
			if (D.ori == 1 && (e = l, t = d, n = c, r = u), on && dn(S, Sn(e, S), Sn(e + t, S)), sn) for (let e in b) {
				let t = b[e];
				e != S && t.from == null && t.min != Zi && dn(e, Sn(n + r, e), Sn(n, e));
			}
			In();
		} else P.lock && (P._lock = !P._lock, An(t, !0, e != null));
		e != null && (ye(Ur, $r), $n(Ur, r, K, nn, R, z, null));
	}
	function Un(e, t, n, r, i, a, o) {
		if (P._lock) return;
		Ve(e);
		let s = rn;
		if (rn) {
			let e = !0, t = !0, n, r;
			D.ori == 0 ? (n = on, r = sn) : (n = sn, r = on), n && r && (e = K <= 10 || K >= R - 10, t = nn <= 10 || nn >= z - 10), n && e && (K = K < Qt ? 0 : R), r && t && (nn = nn < $t ? 0 : z), An(null, !0, !0), rn = !1;
		}
		K = -10, nn = -10, ie.fill(null), An(null, !0, !0), s && (rn = s);
	}
	function Wn(e, t, n, i, a, o, s) {
		P._lock || (Ve(e), G(), In(), e != null && $n(Kr, r, K, nn, R, z, null));
	}
	function Gn() {
		y.forEach(fc), Fe(r.width, r.height, !0);
	}
	_i(Xr, ei, Gn);
	let Kn = {};
	Kn.mousedown = Vn, Kn.mousemove = Nn, Kn.mouseup = Hn, Kn.dblclick = Wn, Kn.setSeries = (e, t, n, i) => {
		let a = Xn.match[2];
		n = a(r, t, n), n != -1 && fn(n, i, !0, !1);
	}, oe && (ve(Hr, m, Vn), ve(Vr, m, Nn), ve(Wr, m, (e) => {
		Ve(e), Mn(!1);
	}), ve(Gr, m, Un), ve(Kr, m, Wn), Xs.add(r), r.syncRect = Mn);
	let qn = r.hooks = e.hooks || {};
	function Jn(e, t, n) {
		zt ? Bt.push([
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
	let Yn = (e, t, n) => n, Xn = Da({
		key: null,
		setSeries: !1,
		filters: {
			pub: aa,
			sub: aa
		},
		scales: [S, v[1] ? v[1].scale : null],
		match: [
			oa,
			oa,
			Yn
		],
		values: [null, null]
	}, P.sync);
	Xn.match.length == 2 && Xn.match.push(Yn), P.sync = Xn;
	let Zn = Xn.key, Qn = _s(Zn);
	function $n(e, t, n, r, i, a, o) {
		Xn.filters.pub(e, t, n, r, i, a, o) && Qn.pub(e, t, n, r, i, a, o);
	}
	Qn.sub(r);
	function er(e, t, n, r, i, a, o) {
		Xn.filters.sub(e, t, n, r, i, a, o) && Kn[e](null, t, n, r, i, a, o);
	}
	r.pub = er;
	function tr() {
		Qn.unsub(r), Xs.delete(r), _e.clear(), vi(Xr, ei, Gn), l.remove(), I?.remove(), Jn("destroy");
	}
	r.destroy = tr;
	function nr() {
		Jn("init", e, t), ct(t || e.data, !1), j[S] ? Gt(S, j[S]) : G(), Ne = q.show && (q.width > 0 || q.height > 0), Me = Pe = !0, Fe(e.width, e.height);
	}
	return v.forEach(Xe), y.forEach(et), n ? n instanceof HTMLElement ? (n.appendChild(l), nr()) : n(r, nr) : nr(), r;
}
pc.assign = Da, pc.fmtNum = Ii, pc.rangeNum = Mi, pc.rangeLog = Ei, pc.rangeAsinh = Di, pc.orient = bs, pc.pxRatio = Y, pc.join = Ma, pc.fmtDate = Ga, pc.tzDate = qa, pc.sync = _s;
{
	pc.addGap = Ts, pc.clipGaps = ws;
	let e = pc.paths = { points: zs };
	e.linear = Us, e.stepped = Ws, e.bars = Ks, e.spline = Js;
}
// src/components/curves/axes.ts
var mc = Array.from({ length: 51 }, (e, t) => 2 ** t);
function hc(e) {
	return e === "bytes" || e === "bytes_per_s" ? mc : void 0;
}
function gc(e, t) {
	return J(e, t).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");
}
var _c = [
	[1e9, "s"],
	[1e6, "ms"],
	[1e3, "us"],
	[1, "ns"]
];
function vc(e) {
	let t = Math.abs((e[1] ?? 0) - (e[0] ?? 0)) || 1, [n, r] = _c.find(([e]) => t >= e) ?? [1, "ns"];
	return e.map((e) => `${Number((e / n).toFixed(3))} ${r}`);
}
// src/components/curves/plotting.ts
function yc(e) {
	return `--part-${e % 8 + 1}`;
}
function bc(e, t) {
	let n = xc(), r = hc(e.kind);
	return {
		width: t.width,
		height: t.height,
		legend: { show: !1 },
		padding: [
			e.marks.length ? 22 : 12,
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
		series: [{}, ...e.series.map((e, n) => Sc(e, n, t.hidden))],
		axes: [{
			...n,
			space: 62,
			size: 32,
			values: (e, t) => vc(t)
		}, {
			...n,
			size: 76,
			space: 34,
			...r ? { incrs: r } : {},
			values: (t, n) => n.map((t) => gc(e.kind, t))
		}],
		hooks: {
			draw: [(t) => wc(t, e.marks)],
			setCursor: [(e) => t.onCursor(e.cursor.idx ?? null)],
			setScale: [(e, n) => n === "x" && t.onZoom(Cc(e))]
		}
	};
}
function xc() {
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
function Sc({ name: e, shape: t }, n, r) {
	let i = pe(yc(n)), { linear: a, stepped: o } = pc.paths, s = t === "step" ? o?.({ align: 1 }) : a?.();
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
function Cc(e) {
	let t = e.data[0], { min: n, max: r } = e.scales.x ?? {};
	return n != null && r != null && (n > (t[0] ?? n) || r < (t.at(-1) ?? r));
}
function wc(e, t) {
	let { ctx: n, bbox: r } = e, i = devicePixelRatio;
	n.save(), n.strokeStyle = pe("--text"), n.fillStyle = pe("--text"), n.textAlign = "center", n.textBaseline = "alphabetic", n.font = `${12 * i}px ${pe("--sans")}`, n.lineWidth = i, n.setLineDash([4 * i, 3 * i]);
	for (let { x: a, label: o } of t) {
		let t = e.valToPos(a, "x", !0);
		if (t < r.left || t > r.left + r.width) continue;
		n.beginPath(), n.moveTo(t, r.top), n.lineTo(t, r.top + r.height), n.stroke();
		let s = n.measureText(o).width / 2, c = Math.min(Math.max(t, r.left + s), r.left + r.width - s);
		n.fillText(o, c, r.top - 5 * i);
	}
	n.restore();
}
function Tc(e, t, n = 1) {
	let r = e.data[0], { min: i, max: a } = e.scales.x ?? {}, [o, s] = [r[0], r.at(-1)];
	if (i == null || a == null || o === void 0 || s === void 0) return;
	let c = Math.min((a - i) * n, s - o), l = (i + a) / 2 + t * (a - i), u = Math.min(Math.max(l - c / 2, o), s - c);
	e.setScale("x", {
		min: u,
		max: u + c
	});
}
// src/components/curves/telling.ts
function Ec(e) {
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
var Dc = 240;
function Oc(e, t, n) {
	let r = H(null), i = H(n);
	return i.current = n, V(() => {
		let n = e.current;
		if (!n) return;
		let a = () => {
			r.current?.destroy();
			let e = {
				width: n.clientWidth,
				height: Dc
			};
			r.current = new pc(bc(t, {
				...i.current,
				...e
			}), kc(t), n);
		};
		a();
		let o = new ResizeObserver(() => r.current?.setSize({
			width: n.clientWidth,
			height: Dc
		}));
		o.observe(n);
		let s = fe(a);
		return () => {
			s(), o.disconnect(), r.current?.destroy(), r.current = null;
		};
	}, [t, e]), V(() => {
		for (let e of t.series.keys()) r.current?.setSeries(e + 1, { show: !n.hidden.has(e) });
	}, [t, n.hidden]), r;
}
function kc(e) {
	return [e.x, ...e.series.map(({ values: e }) => e)];
}
// src/components/Curves.tsx
function Ac({ block: e }) {
	let t = H(null), [n, r] = B(/* @__PURE__ */ new Set()), [i, a] = B(null), [o, s] = B(!1), c = Oc(t, e, {
		hidden: n,
		onCursor: a,
		onZoom: s
	}), l = je(bn), u = (t) => {
		let n = t === null ? void 0 : e.x[t];
		return n === void 0 ? null : l.hrefOfCell("moment", String(Math.round(n)), {});
	}, d = () => {
		let e = u(i);
		e && location.assign(e);
	}, f = H(0), p = (e) => {
		Math.abs(e.clientX - f.current) < 4 && d();
	}, m = (e) => {
		let t = new Set(n);
		t.delete(e) || t.add(e), r(t);
	};
	return /* @__PURE__ */ W("figure", {
		class: "curves",
		children: [
			/* @__PURE__ */ W(zn, { title: e.title }),
			/* @__PURE__ */ W("div", {
				class: "toolbar",
				children: [/* @__PURE__ */ W("ul", {
					class: "legend",
					children: [e.series.map(({ name: t, values: r }, a) => /* @__PURE__ */ W("li", { children: /* @__PURE__ */ W("button", {
						type: "button",
						class: "series",
						"aria-pressed": !n.has(a),
						onClick: () => m(a),
						children: [
							/* @__PURE__ */ W("span", {
								class: `swatch line ${a % 2 ? "dashed" : ""}`,
								style: { borderColor: `var(${yc(a)})` }
							}),
							t,
							i !== null && /* @__PURE__ */ W("b", { children: J(e.kind, r[i]) })
						]
					}) }, t)), i !== null && /* @__PURE__ */ W("li", {
						class: "at",
						children: ["at ", J("moment_ns", e.x[i])]
					})]
				}), o && /* @__PURE__ */ W("button", {
					type: "button",
					class: "button",
					onClick: () => c.current && jc(c.current),
					children: [/* @__PURE__ */ W(G, {
						name: "reset",
						size: 14
					}), "Show all"]
				})]
			}),
			/* @__PURE__ */ W("div", {
				class: "plot",
				ref: t,
				tabIndex: 0,
				role: "application",
				"aria-label": `${Ec(e)} Arrow keys move, plus and minus zoom, 0 shows all.`,
				title: u(0) ? "Click: show this moment in the trace" : void 0,
				onKeyDown: (e) => {
					e.key === "Enter" && d(), c.current && Mc(c.current, e) && e.preventDefault();
				},
				onMouseDownCapture: (e) => {
					f.current = e.clientX;
				},
				onClick: p
			})
		]
	});
}
function jc(e) {
	let t = e.data[0];
	e.setScale("x", {
		min: t[0] ?? 0,
		max: t.at(-1) ?? 1
	});
}
function Mc(e, { key: t }) {
	if (t === "ArrowLeft") Tc(e, -.1);
	else if (t === "ArrowRight") Tc(e, .1);
	else if (t === "+" || t === "=") Tc(e, 0, .5);
	else if (t === "-") Tc(e, 0, 2);
	else if (t === "0" || t === "Escape") jc(e);
	else return !1;
	return !0;
}
// src/components/Facts.tsx
function Nc({ block: e }) {
	return /* @__PURE__ */ W("dl", {
		class: "facts",
		children: e.rows.map(([e, t]) => /* @__PURE__ */ W("div", { children: [/* @__PURE__ */ W("dt", { children: e }), /* @__PURE__ */ W("dd", { children: t })] }, e))
	});
}
// src/components/Findings.tsx
var Pc = {
	high: "bad",
	medium: "warning",
	low: "notice"
};
function Fc({ block: e }) {
	return e.items.length ? /* @__PURE__ */ W("ol", {
		class: "cards",
		children: e.items.map((e, t) => /* @__PURE__ */ W(Ic, { item: e }, `${e.rule} ${t}`))
	}) : /* @__PURE__ */ W("p", {
		class: "note tone-good",
		children: [/* @__PURE__ */ W(G, { name: "good" }), /* @__PURE__ */ W("span", { children: e.empty })]
	});
}
function Ic({ item: e }) {
	let t = Pc[e.severity] ?? "notice";
	return /* @__PURE__ */ W("li", {
		class: `card tone-${t}`,
		children: [
			/* @__PURE__ */ W("p", {
				class: "kicker",
				children: [
					/* @__PURE__ */ W(G, {
						name: ut(t),
						size: 14
					}),
					/* @__PURE__ */ W("span", {
						class: "badge",
						children: e.severity
					}),
					e.gain && /* @__PURE__ */ W("span", {
						class: "gain",
						children: e.gain
					})
				]
			}),
			/* @__PURE__ */ W("h3", { children: e.title }),
			/* @__PURE__ */ W("p", { children: /* @__PURE__ */ W(hn, { text: e.sentence }) }),
			/* @__PURE__ */ W(or, { text: e.advice }),
			/* @__PURE__ */ W(sr, {
				lines: e.evidence,
				links: e.links
			})
		]
	});
}
// src/components/Health.tsx
var Lc = {
	error: "bad",
	warning: "warning",
	info: "notice"
};
function Rc({ block: e }) {
	return e.items.length ? /* @__PURE__ */ W("ul", {
		class: "health",
		children: e.items.map((e) => {
			let t = Lc[e.severity] ?? "notice";
			return /* @__PURE__ */ W("li", {
				class: `tone-${t}`,
				children: [/* @__PURE__ */ W(G, { name: ut(t) }), /* @__PURE__ */ W("div", { children: [
					/* @__PURE__ */ W("h3", { children: [
						/* @__PURE__ */ W("span", {
							class: "badge",
							children: e.severity
						}),
						" ",
						e.title,
						e.count > 1 && /* @__PURE__ */ W("span", {
							class: "quiet",
							children: [" × ", J("count", e.count)]
						})
					] }),
					e.told && /* @__PURE__ */ W("p", {
						class: "told",
						children: e.told
					}),
					/* @__PURE__ */ W("p", { children: /* @__PURE__ */ W(hn, { text: zc(e.consequence, e.advice) }) })
				] })]
			}, e.code);
		})
	}) : /* @__PURE__ */ W("p", {
		class: "note tone-good",
		children: [/* @__PURE__ */ W(G, { name: "good" }), /* @__PURE__ */ W("span", { children: "Nothing is wrong with the recording." })]
	});
}
function zc(...e) {
	return e.filter(Boolean).map((e) => e[0]?.toUpperCase() + e.slice(1).replace(/\.?$/, ".")).join(" ");
}
function Bc(e, t) {
	return t < 0 ? [0, 1] : [e.from[t], e.to[t]];
}
var Vc = 6;
function Hc(e, t, n, r) {
	let i = e.getContext("2d");
	if (!i) return;
	let a = devicePixelRatio || 1, o = e.clientWidth, s = n.depths * 22;
	e.width = Math.round(o * a), e.height = Math.round(s * a), i.scale(a, a), i.font = `12px ${pe("--sans")}`, i.textBaseline = "middle";
	let c = Uc(), l = t.texts.map((e) => !r.search || e.toLowerCase().includes(r.search)), [u, d] = Bc(n, r.zoomed), f = o / (d - u || 1);
	for (let e = 0; e < n.from.length;) {
		let a = Math.max((n.from[e] - u) * f, 0), s = Math.min((n.to[e] - u) * f, o);
		if (s - a < .5) {
			e = n.end[e];
			continue;
		}
		let d = n.depth[e] * 22, p = t.codes[e];
		i.globalAlpha = l[p] ? 1 : .3, i.fillStyle = c.fills[Wc(t.texts[p] ?? "") % Vc], i.fillRect(a, d, Math.max(s - a - 1, .5), 21), s - a > 24 && (i.globalAlpha = l[p] ? 1 : .7, i.fillStyle = c.text, i.fillText(Gc(i, t.texts[p] ?? "", s - a - 9), a + 4, d + 11)), e === r.current && (i.globalAlpha = 1, i.strokeStyle = c.text, i.lineWidth = 2, i.strokeRect(a + 1, d + 1, Math.max(s - a - 3, 1), 19)), e++;
	}
}
function Uc() {
	return {
		fills: Array.from({ length: Vc }, (e, t) => pe(`--icicle-${t + 1}`)),
		text: pe("--text")
	};
}
function Wc(e) {
	let t = 7;
	for (let n = 0; n < e.length; n++) t = t * 31 + e.charCodeAt(n) >>> 0;
	return t;
}
function Gc(e, t, n) {
	if (e.measureText(t).width <= n) return t;
	let [r, i] = [0, t.length];
	for (; r < i;) {
		let a = r + i + 1 >> 1;
		e.measureText(`${t.slice(0, a)}…`).width <= n ? r = a : i = a - 1;
	}
	return r > 1 ? `${t.slice(0, r)}…` : "";
}
// src/components/icicle/layout.ts
function Kc({ parent: e, value: t }) {
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
function qc(e, t, n) {
	for (let r = 0; r < e.from.length;) if (!(t >= e.from[r] && t < e.to[r])) r = e.end[r];
	else if (e.depth[r] === n) return r;
	else r++;
	return -1;
}
function Jc(e, t) {
	let n = [];
	for (let r = t; r >= 0; r = e[r] ?? -1) n.unshift(r);
	return n;
}
function Yc(e, t, n, r) {
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
function Xc(e, t) {
	return e.texts[e.codes[t] ?? -1] ?? "";
}
function Zc(e, t) {
	let n = e.value.reduce((t, n, r) => t + (e.parent[r] === -1 ? n : 0), 0), r = e.value[t] ?? 0;
	return [
		["", J(e.kind, r)],
		["", `${J("share", n > 0 ? r / n : null)} of all`],
		...e.details.map(({ title: e, kind: n, values: r }) => [e, J(n, r[t])])
	];
}
var Qc = 2e3;
function $c(e) {
	let t = e.value.map((e, t) => t), n = t.length > Qc ? t.sort((t, n) => (e.value[n] ?? 0) - (e.value[t] ?? 0)).slice(0, Qc) : t, r = {
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
					texts: n.map((t) => Jc(e.parent, t).map((t) => Xc(e, t)).join(" › "))
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
var el = I(null);
function tl(e, t) {
	let n = je(el), [r, i] = B({});
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
// src/components/Meanings.tsx
function nl({ of: e, meanings: t }) {
	let n = t.filter(({ help: e }) => e);
	return n.length ? /* @__PURE__ */ W("details", {
		class: "meanings",
		children: [/* @__PURE__ */ W("summary", { children: [
			/* @__PURE__ */ W(G, {
				name: "down",
				size: 12
			}),
			"What the ",
			e,
			" mean"
		] }), /* @__PURE__ */ W("dl", { children: n.map(({ term: e, help: t }) => /* @__PURE__ */ W("div", { children: [/* @__PURE__ */ W("dt", { children: e }), /* @__PURE__ */ W("dd", { children: t })] }, e)) })]
	}) : null;
}
// node_modules/@tanstack/table-core/dist/utils.js
function rl(e, t) {
	return typeof e == "function" ? e(t) : e;
}
function il(e) {
	if (Array.isArray(e)) return e.map(il);
	if (e && typeof e == "object") {
		let t = Object.getPrototypeOf(e);
		if (t !== Object.prototype && t !== null) return e;
		let n = t === null ? ol() : {}, r = Object.keys(e);
		for (let t = 0; t < r.length; t++) {
			let i = r[t];
			Object.defineProperty(n, i, {
				configurable: !0,
				enumerable: !0,
				value: il(e[i]),
				writable: !0
			});
		}
		return n;
	}
	return e;
}
function al(e, t) {
	let n = Object.keys(t), r = e;
	for (let e = 0; e < n.length; e++) {
		let i = n[e];
		!i.startsWith("_memo_") && i !== "_cellsCache" && (r[i] = t[i]);
	}
	return e;
}
function ol() {
	return Object.create(null);
}
function sl(e, t) {
	return Object.prototype.hasOwnProperty.call(e, t);
}
function cl(e, t) {
	return (n) => {
		(t.options.atoms?.[e] ?? t.baseAtoms[e]).set((e) => rl(n, e));
	};
}
function ll(e) {
	if (typeof e != "object" || !e) return !1;
	if (Array.isArray(e)) return !0;
	let t = Object.getPrototypeOf(e);
	return t === Object.prototype || t === null;
}
function ul(e) {
	return Reflect.ownKeys(e).filter((t) => Object.prototype.propertyIsEnumerable.call(e, t));
}
var dl = 3;
function fl(e, t) {
	return pl(e, t, dl);
}
function pl(e, t, n) {
	if (Object.is(e, t)) return !0;
	if (n <= 0 || !ll(e) || !ll(t) || (Array.isArray(e) || Array.isArray(t)) && (!Array.isArray(e) || !Array.isArray(t) || e.length !== t.length)) return !1;
	let r = ul(e), i = ul(t);
	if (r.length !== i.length) return !1;
	let a = e, o = t;
	for (let e = 0; e < r.length; e++) {
		let i = r[e];
		if (!Object.prototype.propertyIsEnumerable.call(t, i) || !pl(a[i], o[i], n - 1)) return !1;
	}
	return !0;
}
function ml(e, t, n, r = fl) {
	let i = `on${t.charAt(0).toUpperCase()}${t.slice(1)}Change`, a = e.options[i];
	a && a((e) => {
		let t = rl(n, e);
		return r(e, t) ? e : t;
	});
}
function hl(e) {
	return e instanceof Function;
}
function gl(e, t) {
	let n = [], r = (e) => {
		e.forEach((e) => {
			n.push(e);
			let i = t(e);
			i.length && r(i);
		});
	};
	return r(e), n;
}
var _l = ({ fn: e, memoDeps: t, onAfterCompare: n, onAfterUpdate: r, onBeforeCompare: i, onBeforeUpdate: a }) => {
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
function vl(e) {
	let t = !1;
	return () => {
		t ? e() : t = !0;
	};
}
function yl({ feature: e, fnName: t, objectId: n, onAfterUpdate: r, table: i, ...a }) {
	let o = { onAfterUpdate: r ? () => {
		let { schedule: e, untrack: t } = i._reactivity;
		e(() => t(() => r()));
	} : void 0 };
	return _l({
		...a,
		...o
	});
}
function bl(e, t = "_") {
	let [n, r] = e.replace(t, " ").split(" ");
	return {
		fnKey: r,
		fnName: `${n}.${r}`,
		parentName: n
	};
}
function xl(e, t, n) {
	for (let [r, { fn: i, memoDeps: a }] of Object.entries(n)) {
		let { fnKey: n, fnName: o } = bl(r);
		t[n] = a ? yl({
			memoDeps: a,
			fn: i,
			fnName: o,
			table: t,
			feature: e
		}) : i;
	}
}
function Sl(e, t, n, r) {
	for (let [i, { fn: a, memoDeps: o }] of Object.entries(r)) {
		let { fnKey: r, fnName: s } = bl(i);
		if (o) {
			let i = `_memo_${r}`;
			t[r] = function(...t) {
				if (!this[i]) {
					let t = this;
					this[i] = yl({
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
function Cl(e, t, n, ...r) {
	return e[t]?.(...r) ?? n(e, ...r);
}
// node_modules/@tanstack/table-core/dist/core/cells/coreCellsFeature.utils.js
function wl(e) {
	return e.row.getValue(e.column.id);
}
function Tl(e) {
	return e.getValue() ?? e.table.options.renderFallbackValue;
}
function El(e) {
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
var Dl = { assignCellPrototype: (e, t) => {
	Sl("coreCellsFeature", e, t, {
		cell_getValue: { fn: (e) => wl(e) },
		cell_renderValue: { fn: (e) => Tl(e) },
		cell_getContext: {
			fn: (e) => El(e),
			memoDeps: (e) => [e]
		}
	});
} };
// node_modules/@tanstack/table-core/dist/core/columns/constructColumn.js
function Ol(e) {
	if (!e._columnPrototype) {
		e._columnPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignColumnPrototype?.(e._columnPrototype, e);
	}
	return e._columnPrototype;
}
function kl(e, t, n, r) {
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
	let l = Ol(e), u = Object.create(l);
	u.accessorFn = c, u.columnDef = i, u.columns = [], u.depth = n, u.id = `${String(s)}`, u.parent = r;
	let d = e._columnInstanceInitFns;
	for (let e = 0; e < d.length; e++) d[e](u);
	return u;
}
// node_modules/@tanstack/table-core/dist/core/featureStubs.js
function Al(e) {
	return e.getIsVisible?.() ?? !0;
}
function jl(e) {
	return e.getVisibleLeafColumns?.() ?? e.getAllLeafColumns();
}
function Ml(e, t) {
	let n = e, r = t;
	return n.getOrderColumnsFn?.()(r) ?? n._orderGroupedColumns?.(r) ?? t;
}
function Nl(e, t, n, r) {
	return e._orderByColumnPinning?.(t, n, r) ?? t;
}
function Pl(e) {
	return e.getGlobalFilterFn?.();
}
function Fl(e) {
	return e.getCanGlobalFilter?.() ?? !1;
}
function Il(e, t) {
	return e._expandRows?.(t) ?? t;
}
function Ll(e) {
	e.autoResetExpanded?.();
}
function Rl(e) {
	e.autoResetPageIndex?.();
}
function zl(e) {
	e.autoResetSorting?.();
}
function Bl(e) {
	e.autoResetCellSelection?.();
}
// node_modules/@tanstack/table-core/dist/core/columns/coreColumnsFeature.utils.js
function Vl(e) {
	return [e, ...e.columns.flatMap((e) => e.getFlatColumns())];
}
function Hl(e) {
	if (e.columns.length) {
		let t = e.columns.flatMap((e) => e.getLeafColumns());
		return Ml(e.table, t);
	}
	return [e];
}
function Ul(e) {
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
function Wl(e, t, n, r = 0) {
	let i = Array(t.length);
	for (let a = 0; a < t.length; a++) {
		if (!(a in t)) continue;
		let o = t[a], s = kl(e, o, r, n), c = o;
		s.columns = c.columns ? Wl(e, c.columns, s, r + 1) : [], i[a] = s;
	}
	return i;
}
function Gl(e) {
	return Wl(e, e.options.columns);
}
function Kl(e) {
	return e.getAllColumns().flatMap((e) => e.getFlatColumns());
}
function ql(e) {
	let t = ol(), n = e.getAllFlatColumns();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		t[r.id] = r;
	}
	return t;
}
function Jl(e) {
	return Ml(e, e.getAllColumns().flatMap((e) => e.getLeafColumns()));
}
function Yl(e) {
	let t = ol(), n = e.getAllLeafColumns();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		t[r.id] = r;
	}
	return t;
}
function Xl(e, t) {
	return e.getAllFlatColumnsById()[t];
}
// node_modules/@tanstack/table-core/dist/core/columns/coreColumnsFeature.js
var Zl = {
	assignColumnPrototype: (e, t) => {
		Sl("coreColumnsFeature", e, t, {
			column_getFlatColumns: {
				fn: (e) => Vl(e),
				memoDeps: (e) => [e.table.options.columns]
			},
			column_getLeafColumns: {
				fn: (e) => Hl(e),
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
		xl("coreColumnsFeature", e, {
			table_getDefaultColumnDef: {
				fn: () => Ul(e),
				memoDeps: () => [e.options.defaultColumn]
			},
			table_getAllColumns: {
				fn: () => Gl(e),
				memoDeps: () => [e.options.columns]
			},
			table_getAllFlatColumns: {
				fn: () => Kl(e),
				memoDeps: () => [e.options.columns]
			},
			table_getAllFlatColumnsById: {
				fn: () => ql(e),
				memoDeps: () => [e.options.columns]
			},
			table_getAllLeafColumns: {
				fn: () => Jl(e),
				memoDeps: () => [
					e.atoms.columnOrder?.get(),
					e.atoms.grouping?.get(),
					e.options.columns,
					e.options.groupedColumnMode
				]
			},
			table_getAllLeafColumnsById: {
				fn: () => Yl(e),
				memoDeps: () => [e.getAllLeafColumns()]
			},
			table_getColumn: { fn: (t) => Xl(e, t) }
		});
	}
};
// node_modules/@tanstack/table-core/dist/core/headers/constructHeader.js
function Ql(e) {
	if (!e._headerPrototype) {
		e._headerPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignHeaderPrototype?.(e._headerPrototype, e);
	}
	return e._headerPrototype;
}
function $l(e, t, n) {
	let r = Ql(e), i = Object.create(r);
	i.colSpan = 0, i.column = t, i.depth = n.depth, i.headerGroup = null, i.id = n.id ?? t.id, i.index = n.index, i.isPlaceholder = !!n.isPlaceholder, i.placeholderId = n.placeholderId, i.rowSpan = 0, i.subHeaders = [];
	let a = e._headerInstanceInitFns;
	for (let e = 0; e < a.length; e++) a[e](i);
	return i;
}
// node_modules/@tanstack/table-core/dist/core/headers/buildHeaderGroups.js
function eu(e, t = 1) {
	let n = t;
	for (let r = 0; r < e.length; r++) {
		let i = e[r];
		Al(i) && i.columns.length && (n = Math.max(n, eu(i.columns, t + 1)));
	}
	return n;
}
function tu(e, t) {
	return e ? `${e}_${t}` : String(t);
}
function nu(e, t, n, r) {
	let i = e ?? "";
	return t && (i = i ? `${i}_${t}` : String(t)), n && (i = i ? `${i}_${n}` : n), r && (i = i ? `${i}_${r}` : r), i;
}
function ru(e, t) {
	let n = 0;
	for (let r = 0; r < e.length; r++) e[r].column === t && n++;
	return n;
}
function iu(e, t, n, r, i, a) {
	let o = {
		depth: t,
		id: tu(r, t),
		headers: []
	}, s = [];
	for (let i = 0; i < e.length; i++) {
		if (!(i in e)) continue;
		let a = e[i], c = s[s.length - 1], l = a.column.depth === o.depth, u, d = !1;
		if (l && a.column.parent ? u = a.column.parent : (u = a.column, d = !0), c && c.column === u) c.subHeaders.push(a);
		else {
			let e = $l(n, u, {
				id: nu(r, t, u.id, a.id),
				isPlaceholder: d,
				placeholderId: d ? String(ru(s, u)) : void 0,
				depth: t,
				index: s.length
			});
			e.subHeaders.push(a), s.push(e);
		}
		o.headers.push(a), a.headerGroup = o;
	}
	for (let e = 0; e < a.length; e++) a[e](o);
	i.push(o), t > 0 && iu(s, t - 1, n, r, i, a);
}
function au(e) {
	for (let t = 0; t < e.length; t++) {
		let n = e[t];
		if (!Al(n.column)) continue;
		let r = 0;
		if (n.subHeaders.length) {
			au(n.subHeaders);
			for (let e = 0; e < n.subHeaders.length; e++) {
				let t = n.subHeaders[e];
				Al(t.column) && (r += t.colSpan);
			}
		} else r = 1;
		if (n.colSpan = r, n.isPlaceholder && n.subHeaders.length === 1 && n.subHeaders[0].column === n.column) {
			let e = 1, t = n.subHeaders[0];
			for (; t;) t.rowSpan = 0, e++, t = t.subHeaders.length === 1 && t.subHeaders[0].column === n.column ? t.subHeaders[0] : void 0;
			n.rowSpan = e;
		} else n.rowSpan = 1;
	}
}
function ou(e, t, n, r) {
	let i = eu(e), a = [], o = n._headerGroupInstanceInitFns, s = Array(t.length);
	for (let e = 0; e < t.length; e++) e in t && (s[e] = $l(n, t[e], {
		depth: i,
		index: e
	}));
	return iu(s, i - 1, n, r, a, o), a.reverse(), au(a[0]?.headers ?? []), a;
}
// node_modules/@tanstack/table-core/dist/core/headers/coreHeadersFeature.utils.js
function su(e, t) {
	for (let n = 0; n < e.subHeaders.length; n++) su(e.subHeaders[n], t);
	t.push(e);
}
function cu(e) {
	let t = [];
	return su(e, t), t;
}
function lu(e) {
	return {
		column: e.column,
		header: e,
		table: e.column.table
	};
}
function uu(e) {
	return ou(e.getAllColumns(), Nl(e, jl(e), (e) => e.id), e);
}
function du(e) {
	return [...e.getHeaderGroups()].reverse();
}
function fu(e) {
	let t = e.getHeaderGroups(), n = [];
	for (let e = 0; e < t.length; e++) {
		let r = t[e].headers;
		for (let e = 0; e < r.length; e++) n.push(r[e]);
	}
	return n;
}
function pu(e) {
	let t = e.getHeaderGroups()[0]?.headers ?? [], n = [];
	for (let e = 0; e < t.length; e++) {
		let r = t[e].getLeafHeaders();
		for (let e = 0; e < r.length; e++) n.push(r[e]);
	}
	return n;
}
// node_modules/@tanstack/table-core/dist/core/headers/coreHeadersFeature.js
var mu = {
	assignHeaderPrototype: (e, t) => {
		Sl("coreHeadersFeature", e, t, {
			header_getLeafHeaders: {
				fn: (e) => cu(e),
				memoDeps: (e) => [e.column.table.options.columns]
			},
			header_getContext: {
				fn: (e) => lu(e),
				memoDeps: (e) => [e.column.table.options.columns]
			}
		});
	},
	constructTableAPIs: (e) => {
		xl("coreHeadersFeature", e, {
			table_getHeaderGroups: {
				fn: () => uu(e),
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
				fn: () => du(e),
				memoDeps: () => [e.getHeaderGroups()]
			},
			table_getFlatHeaders: {
				fn: () => fu(e),
				memoDeps: () => [e.getHeaderGroups()]
			},
			table_getLeafHeaders: {
				fn: () => pu(e),
				memoDeps: () => [e.getHeaderGroups()]
			}
		});
	}
};
// node_modules/@tanstack/table-core/dist/core/rows/constructRow.js
function hu(e) {
	if (!e._rowPrototype) {
		e._rowPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignRowPrototype?.(e._rowPrototype, e);
	}
	return e._rowPrototype;
}
var gu = (e, t, n, r, i, a, o) => {
	let s = hu(e), c = Object.create(s);
	c._displayIndexCache = -1, c._uniqueValuesCache = ol(), c._valuesCache = ol(), c.depth = i, c.id = t, c.index = r, c.original = n, c.parentId = o, c.subRows = a ?? [];
	let l = e._rowInstanceInitFns;
	for (let e = 0; e < l.length; e++) l[e](c);
	return c;
};
// node_modules/@tanstack/table-core/dist/core/row-models/createCoreRowModel.js
function _u() {
	return (e) => yl({
		feature: "coreRowModelsFeature",
		table: e,
		fnName: "table.getCoreRowModel",
		memoDeps: () => [e.options.data],
		fn: () => yu(e, e.options.data),
		onAfterUpdate: vl(() => {
			Ll(e), Rl(e), zl(e), Bl(e);
		})
	});
}
function vu(e, t, n, r = 0, i) {
	let a = [];
	for (let o = 0; o < n.length; o++) {
		let s = n[o], c = gu(e, e.getRowId(s, o, i), s, o, r, void 0, i?.id);
		t.flatRows.push(c), t.rowsById[c.id] = c, a.push(c), e.options.getSubRows && (c.originalSubRows = e.options.getSubRows(s, o), c.originalSubRows?.length && (c.subRows = vu(e, t, c.originalSubRows, r + 1, c)));
	}
	return a;
}
function yu(e, t) {
	let n = {
		rows: [],
		flatRows: [],
		rowsById: ol()
	};
	return n.rows = vu(e, n, t), n;
}
// node_modules/@tanstack/table-core/dist/core/row-models/coreRowModelsFeature.utils.js
function bu(e) {
	return e._rowModels.coreRowModel || (e._rowModels.coreRowModel = e.options.features.coreRowModel?.(e) ?? _u()(e)), e._rowModels.coreRowModel();
}
function xu(e) {
	return e.getCoreRowModel();
}
function Su(e) {
	return e._rowModels.filteredRowModel || (e._rowModels.filteredRowModel = e.options.features.filteredRowModel?.(e)), e.options.manualFiltering || !e._rowModels.filteredRowModel ? e.getPreFilteredRowModel() : e._rowModels.filteredRowModel();
}
function Cu(e) {
	return e.getFilteredRowModel();
}
function wu(e) {
	return e._rowModels.groupedRowModel || (e._rowModels.groupedRowModel = e.options.features.groupedRowModel?.(e)), e.options.manualGrouping || !e._rowModels.groupedRowModel ? e.getPreGroupedRowModel() : e._rowModels.groupedRowModel();
}
function Tu(e) {
	return e.getGroupedRowModel();
}
function Eu(e) {
	return e._rowModels.sortedRowModel || (e._rowModels.sortedRowModel = e.options.features.sortedRowModel?.(e)), e.options.manualSorting || !e._rowModels.sortedRowModel ? e.getPreSortedRowModel() : e._rowModels.sortedRowModel();
}
function Du(e) {
	return e.getSortedRowModel();
}
function Ou(e) {
	return e._rowModels.expandedRowModel || (e._rowModels.expandedRowModel = e.options.features.expandedRowModel?.(e)), e.options.manualExpanding || !e._rowModels.expandedRowModel ? e.getPreExpandedRowModel() : e._rowModels.expandedRowModel();
}
function ku(e) {
	return e.getExpandedRowModel();
}
function Au(e) {
	return e._rowModels.paginatedRowModel || (e._rowModels.paginatedRowModel = e.options.features.paginatedRowModel?.(e)), e.options.manualPagination || !e._rowModels.paginatedRowModel ? e.getPrePaginatedRowModel() : e._rowModels.paginatedRowModel();
}
function ju(e) {
	return e.getPaginatedRowModel();
}
// node_modules/@tanstack/table-core/dist/core/row-models/coreRowModelsFeature.js
var Mu = { constructTableAPIs: (e) => {
	xl("coreRowModelsFeature", e, {
		table_getCoreRowModel: { fn: () => bu(e) },
		table_getPreFilteredRowModel: { fn: () => xu(e) },
		table_getFilteredRowModel: { fn: () => Su(e) },
		table_getPreGroupedRowModel: { fn: () => Cu(e) },
		table_getGroupedRowModel: { fn: () => wu(e) },
		table_getPreSortedRowModel: { fn: () => Tu(e) },
		table_getSortedRowModel: { fn: () => Eu(e) },
		table_getPreExpandedRowModel: { fn: () => Du(e) },
		table_getExpandedRowModel: { fn: () => Ou(e) },
		table_getPrePaginatedRowModel: { fn: () => ku(e) },
		table_getPaginatedRowModel: { fn: () => Au(e) },
		table_getRowModel: { fn: () => ju(e) }
	});
} };
// node_modules/@tanstack/table-core/dist/core/cells/constructCell.js
function Nu(e) {
	if (!e._cellPrototype) {
		e._cellPrototype = { table: e };
		let t = Object.values(e._features);
		for (let n = 0; n < t.length; n++) t[n].assignCellPrototype?.(e._cellPrototype, e);
	}
	return e._cellPrototype;
}
function Pu(e, t, n) {
	let r = Nu(n), i = Object.create(r);
	i.column = e, i.id = `${t.id}_${e.id}`, i.row = t;
	let a = n._cellInstanceInitFns;
	for (let e = 0; e < a.length; e++) a[e](i);
	return i;
}
// node_modules/@tanstack/table-core/dist/core/rows/coreRowsFeature.utils.js
function Fu(e) {
	let t = e.table.getRowsInDisplayOrder(), n = e._displayIndexCache;
	return t[n] === e ? n : -1;
}
function Iu(e) {
	let t = e.getPrePaginatedRowModel(), n = e.options.paginateExpandedRows === !1 ? Il(e, t).rows : t.rows;
	for (let e = 0; e < n.length; e++) n[e]._displayIndexCache = e;
	return n;
}
function Lu(e, t) {
	if (sl(e._valuesCache, t)) return e._valuesCache[t];
	let n = e.table.getColumn(t);
	if (n?.accessorFn) return e._valuesCache[t] = n.accessorFn(e.original, e.index), e._valuesCache[t];
}
function Ru(e, t) {
	if (sl(e._uniqueValuesCache, t)) return e._uniqueValuesCache[t];
	let n = e.table.getColumn(t);
	if (n?.accessorFn) return n.columnDef.getUniqueValues ? (e._uniqueValuesCache[t] = n.columnDef.getUniqueValues(e.original, e.index), e._uniqueValuesCache[t]) : (e._uniqueValuesCache[t] = [e.getValue(t)], e._uniqueValuesCache[t]);
}
function zu(e, t) {
	return e.getValue(t) ?? e.table.options.renderFallbackValue;
}
function Bu(e) {
	return gl(e.subRows, (e) => e.subRows);
}
function Vu(e) {
	let t = e.getCoreRowModel().flatRows, n = 0;
	for (let e = 0; e < t.length; e++) n = Math.max(n, t[e].depth);
	return n;
}
function Hu(e) {
	if (e.parentId) return e.table.getCoreRowModel().rowsById[e.parentId] ?? e.table.getRow(e.parentId, !0);
}
function Uu(e) {
	let t = [], n = e;
	for (;;) {
		let e = n.getParentRow();
		if (!e) break;
		t.push(e), n = e;
	}
	return t.reverse();
}
function Wu(e) {
	let t = e.table.getAllLeafColumns(), n = e._cellsCache;
	n ||= e._cellsCache = /* @__PURE__ */ new WeakMap();
	let r = Array(t.length);
	for (let i = 0; i < t.length; i++) {
		let a = t[i], o = n.get(a);
		o || (o = Pu(a, e, e.table), n.set(a, o)), r[i] = o;
	}
	return r;
}
function Gu(e) {
	let t = ol(), n = e.getAllCells();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		t[r.column.id] = r;
	}
	return t;
}
function Ku(e, t, n, r) {
	return t.options.getRowId?.(e, n, r) ?? (r ? `${r.id}.${n}` : String(n));
}
function qu(e, t, n) {
	let r = (n ? e.getPrePaginatedRowModel() : e.getRowModel()).rowsById[t];
	if (!r && (r = e.getCoreRowModel().rowsById[t], !r)) throw Error();
	return r;
}
// node_modules/@tanstack/table-core/dist/core/rows/coreRowsFeature.js
var Ju = {
	assignRowPrototype: (e, t) => {
		Sl("coreRowsFeature", e, t, {
			row_getDisplayIndex: { fn: (e) => Fu(e) },
			row_getAllCellsByColumnId: {
				fn: (e) => Gu(e),
				memoDeps: (e) => [e.getAllCells()]
			},
			row_getAllCells: {
				fn: (e) => Wu(e),
				memoDeps: (e) => [e.table.getAllLeafColumns()]
			},
			row_getLeafRows: {
				fn: (e) => Bu(e),
				memoDeps: (e) => [e.subRows]
			},
			row_getParentRow: { fn: (e) => Hu(e) },
			row_getParentRows: { fn: (e) => Uu(e) },
			row_getUniqueValues: { fn: (e, t) => Ru(e, t) },
			row_getValue: { fn: (e, t) => Lu(e, t) },
			row_renderValue: { fn: (e, t) => zu(e, t) }
		});
	},
	constructTableAPIs: (e) => {
		xl("coreRowsFeature", e, {
			table_getRowsInDisplayOrder: {
				fn: () => Iu(e),
				memoDeps: () => [
					e.getPrePaginatedRowModel().rows,
					e.options.paginateExpandedRows,
					e.options.paginateExpandedRows === !1 ? e.atoms.expanded?.get() : void 0
				]
			},
			table_getRowId: { fn: (t, n, r) => Ku(t, e, n, r) },
			table_getRow: { fn: (t, n) => qu(e, t, n) },
			table_getMaxSubRowDepth: {
				fn: () => Vu(e),
				memoDeps: () => [e.getCoreRowModel()]
			}
		});
	}
};
// node_modules/@tanstack/table-core/dist/core/table/coreTablesFeature.utils.js
function Yu(e, t, n = (e, t) => e === t) {
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
function Xu(e, t, n = (e, t) => e === t) {
	e._reactivity.batch(() => {
		Yu(e, t, n), e._reactivity.commit?.();
	});
}
function Zu(e) {
	let t = il(e.initialState);
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
function Qu(e, t) {
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
function $u(e, t, n) {
	let r = Qu(e, rl(t, e.options));
	e.optionsStore ? e.optionsStore.set(() => r) : e.options = r, n?.syncExternalState !== !1 && Xu(e, r.state ?? null);
}
// node_modules/@tanstack/table-core/dist/core/coreFeatures.js
var ed = {
	coreCellsFeature: Dl,
	coreColumnsFeature: Zl,
	coreHeadersFeature: mu,
	coreRowModelsFeature: Mu,
	coreRowsFeature: Ju,
	coreTablesFeature: { constructTableAPIs: (e) => {
		xl("coreTablesFeature", e, {
			table_reset: { fn: () => Zu(e) },
			table_setOptions: { fn: (t) => $u(e, t) }
		});
	} }
};
// node_modules/@tanstack/table-core/dist/helpers/tableFeatures.js
function td(e) {
	return e;
}
// node_modules/@tanstack/table-core/dist/core/reactivity/coreReactivityFeature.utils.js
function nd(e) {
	let t = e;
	return Object.defineProperty(e, "state", { get() {
		return e.get();
	} }), "set" in e && (t.setState = e.set.bind(e)), t;
}
// node_modules/@tanstack/store/dist/alien.js
/* @__NO_SIDE_EFFECTS__ */
function rd({ update: e, notify: t, unwatched: n }) {
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
function id(e, t, n) {
	let r = typeof e == "object", i = r ? e : void 0;
	return {
		next: (r ? e.next : e)?.bind(i),
		error: (r ? e.error : t)?.bind(i),
		complete: (r ? e.complete : n)?.bind(i)
	};
}
var ad = [], od = 0, { link: sd, unlink: cd, propagate: ld, checkDirty: ud, shallowPropagate: dd } = /* @__PURE__ */ rd({
	update(e) {
		return e._update();
	},
	notify(e) {
		ad[pd++] = e, e.flags &= -3;
	},
	unwatched(e) {
		e.depsTail !== void 0 && (e.depsTail = void 0, e.flags = 17, _d(e));
	}
}), fd = 0, pd = 0, md, hd = 0;
function gd(e) {
	try {
		++hd, e();
	} finally {
		--hd || vd();
	}
}
function _d(e) {
	let t = e.depsTail, n = t === void 0 ? e.deps : t.nextDep;
	for (; n !== void 0;) n = cd(n, e);
}
function vd() {
	if (!(hd > 0)) {
		for (; fd < pd;) {
			let e = ad[fd];
			ad[fd++] = void 0, e.notify();
		}
		fd = 0, pd = 0;
	}
}
function yd(e, t) {
	let n = typeof e == "function", r = e, i = {
		_snapshot: n ? void 0 : e,
		subs: void 0,
		subsTail: void 0,
		deps: void 0,
		depsTail: void 0,
		flags: +!n,
		get() {
			return md !== void 0 && sd(i, md, od), i._snapshot;
		},
		subscribe(e) {
			let t = id(e), n = { current: !1 }, r = bd(() => {
				i.get(), n.current ? (md = void 0, t.next?.(i._snapshot)) : n.current = !0;
			});
			return { unsubscribe: () => {
				r.stop();
			} };
		},
		_update(e) {
			let a = md, o = t?.compare ?? Object.is;
			if (n) md = i, ++od, i.depsTail = void 0;
			else if (e === void 0) return !1;
			n && (i.flags = 5);
			try {
				let t = i._snapshot, a = typeof e == "function" ? e(t) : e === void 0 && n ? r(t) : e;
				return t === void 0 || !o(t, a) ? (i._snapshot = a, !0) : !1;
			} finally {
				md = a, n && (i.flags &= -5), _d(i);
			}
		}
	};
	return n ? (i.flags = 17, i.get = function() {
		let e = i.flags;
		if (e & 16 || e & 32 && ud(i.deps, i)) {
			if (i._update()) {
				let e = i.subs;
				e !== void 0 && dd(e);
			}
		} else e & 32 && (i.flags = e & -33);
		return md !== void 0 && sd(i, md, od), i._snapshot;
	}) : i.set = function(e) {
		if (i._update(e)) {
			let e = i.subs;
			e !== void 0 && (ld(e), dd(e), vd());
		}
	}, i;
}
function bd(e) {
	let t = () => {
		let t = md;
		md = n, ++od, n.depsTail = void 0, n.flags = 6;
		try {
			return e();
		} finally {
			md = t, n.flags &= -5, _d(n);
		}
	}, n = {
		deps: void 0,
		depsTail: void 0,
		subs: void 0,
		subsTail: void 0,
		flags: 6,
		notify() {
			let e = this.flags;
			e & 16 || e & 32 && ud(this.deps, this) ? t() : this.flags = 2;
		},
		stop() {
			this.flags = 0, this.depsTail = void 0, _d(this);
		}
	};
	return t(), n;
}
// node_modules/@tanstack/store/dist/shallow.js
function xd(e, t) {
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
	let n = Sd(e);
	if (n.length !== Sd(t).length) return !1;
	for (let r = 0; r < n.length; r++) if (!Object.prototype.hasOwnProperty.call(t, n[r]) || !Object.is(e[n[r]], t[n[r]])) return !1;
	return !0;
}
function Sd(e) {
	return Object.keys(e).concat(Object.getOwnPropertySymbols(e));
}
// node_modules/@tanstack/table-core/dist/core/table/constructTable.js
function Cd(e, t = {}) {
	return Object.values(e).forEach((e) => {
		t = e.getInitialState?.(t) ?? t;
	}), il(t);
}
function wd(e) {
	let t = e.features.coreReactivityFeature, { aggregationFns: n, columnMeta: r, coreRowModel: i, expandedRowModel: a, facetedMinMaxValues: o, facetedRowModel: s, facetedUniqueValues: c, filterFns: l, filterMeta: u, filteredRowModel: d, groupedRowModel: f, paginatedRowModel: p, sortFns: m, sortedRowModel: h, tableMeta: g, ..._ } = e.features, v = {
		_cellInstanceInitFns: [],
		_columnInstanceInitFns: [],
		_features: {
			...ed,
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
	})) : v.options = b, v.initialState = Cd(v._features, v.options.initialState);
	let x = Object.keys(v.initialState);
	for (let e = 0; e < x.length; e++) {
		let n = x[e];
		v.baseAtoms[n] = t.createWritableAtom(v.initialState[n], { debugName: `table/baseAtoms/${n}` }), v.atoms[n] = t.createReadonlyAtom(() => {
			let e = v.options, t = e.atoms?.[n], r = t ? t.get() : v.baseAtoms[n].get();
			if (t) return r;
			let i = e.state;
			if (i && sl(i, n)) {
				let e = i[n];
				return e === void 0 ? v.initialState[n] : e;
			}
			return r;
		}, { debugName: `table/atoms/${n}` });
	}
	Yu(v), v.store = nd(t.createReadonlyAtom(() => {
		let e = {};
		for (let t = 0; t < x.length; t++) {
			let n = x[t];
			e[n] = v.atoms[n].get();
		}
		return e;
	}, {
		compare: xd,
		debugName: "table/store"
	}));
	for (let e = 0; e < y.length; e++) {
		let t = y[e];
		t.initTableInstanceData?.(v), t.initCellInstanceData && v._cellInstanceInitFns.push(t.initCellInstanceData.bind(t)), t.initColumnInstanceData && v._columnInstanceInitFns.push(t.initColumnInstanceData.bind(t)), t.initHeaderGroupInstanceData && v._headerGroupInstanceInitFns.push(t.initHeaderGroupInstanceData.bind(t)), t.initHeaderInstanceData && v._headerInstanceInitFns.push(t.initHeaderInstanceData.bind(t)), t.initRowInstanceData && v._rowInstanceInitFns.push(t.initRowInstanceData.bind(t)), t.constructTableAPIs?.(v);
	}
	return v;
}
// node_modules/@tanstack/table-core/dist/features/column-filtering/columnFilteringFeature.utils.js
function Td() {
	return [];
}
function Ed(e) {
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
function Dd(e) {
	let t = null, n = e.table._rowModelFns.filterFns;
	return t = hl(e.columnDef.filterFn) ? e.columnDef.filterFn : e.columnDef.filterFn === "auto" ? Ed(e) : n?.[e.columnDef.filterFn], t ?? void 0;
}
function Od(e) {
	return (e.columnDef.enableColumnFilter ?? !0) && (e.table.options.enableColumnFilters ?? !0) && (e.table.options.enableFilters ?? !0) && !!e.accessorFn;
}
function kd(e) {
	return jd(e) > -1;
}
function Ad(e) {
	return e.table.atoms.columnFilters?.get()?.find((t) => t.id === e.id)?.value;
}
function jd(e) {
	return e.table.atoms.columnFilters?.get()?.findIndex((t) => t.id === e.id) ?? -1;
}
function Md(e, t) {
	Nd(e.table, (n) => {
		let r = Dd(e), i = n.find((t) => t.id === e.id), a = rl(t, i ? i.value : void 0);
		if (Fd(r, a, e)) return n.filter((t) => t.id !== e.id);
		let o = {
			id: e.id,
			value: a
		};
		return i ? n.map((t) => t.id === e.id ? o : t) : n.length ? [...n, o] : [o];
	});
}
function Nd(e, t) {
	let n = e.getAllLeafColumnsById();
	ml(e, "columnFilters", (e) => rl(t, e).filter((e) => {
		let t = n[e.id];
		return !(t && Fd(Dd(t), e.value, t));
	}));
}
function Pd(e, t) {
	Nd(e, t ? [] : il(e.initialState.columnFilters ?? []));
}
function Fd(e, t, n) {
	return t === void 0 ? !0 : e?.autoRemove ? !!e.autoRemove(t, n) : typeof t == "string" && !t;
}
// node_modules/@tanstack/table-core/dist/features/column-filtering/columnFilteringFeature.js
var Id = {
	getInitialState: (e) => ({
		columnFilters: Td(),
		...e
	}),
	getDefaultColumnDef: () => ({ filterFn: "auto" }),
	getDefaultTableOptions: (e) => ({
		onColumnFiltersChange: cl("columnFilters", e),
		filterFromLeafRows: !1,
		maxLeafRowFilterDepth: 100
	}),
	assignColumnPrototype: (e, t) => {
		Sl("columnFilteringFeature", e, t, {
			column_getAutoFilterFn: { fn: (e) => Ed(e) },
			column_getFilterFn: { fn: (e) => Dd(e) },
			column_getCanFilter: { fn: (e) => Od(e) },
			column_getIsFiltered: { fn: (e) => kd(e) },
			column_getFilterValue: { fn: (e) => Ad(e) },
			column_getFilterIndex: { fn: (e) => jd(e) },
			column_setFilterValue: { fn: (e, t) => Md(e, t) }
		});
	},
	initRowInstanceData: (e) => {
		e.columnFilters = ol(), e.columnFiltersMeta = ol();
	},
	constructTableAPIs: (e) => {
		xl("columnFilteringFeature", e, {
			table_setColumnFilters: { fn: (t) => Nd(e, t) },
			table_resetColumnFilters: { fn: (t) => Pd(e, t) }
		});
	}
};
// node_modules/@tanstack/table-core/dist/features/column-visibility/columnVisibilityFeature.utils.js
function Ld() {
	return ol();
}
function Rd(e, t) {
	Bd(e) && Kd(e.table, (n) => {
		let r = Object.assign(ol(), n), i = t ?? !Cl(e, "getIsVisible", zd), a = e.getLeafColumns();
		for (let e = 0; e < a.length; e++) {
			let t = a[e];
			Bd(t) && (r[t.id] = i);
		}
		return r;
	});
}
function zd(e) {
	let t = e.table.atoms.columnVisibility?.get();
	if (!t) return !0;
	let n = e.columns;
	return n.length ? n.some((e) => Cl(e, "getIsVisible", zd)) : (sl(t, e.id) ? t[e.id] : void 0) ?? !0;
}
function Bd(e) {
	return (e.columnDef.enableHiding ?? !0) && (e.table.options.enableHiding ?? !0);
}
function Vd(e) {
	return (t) => {
		Rd(e, t.target.checked);
	};
}
function Hd(e) {
	let t = e.getAllCells(), n = [];
	for (let e = 0; e < t.length; e++) {
		let r = t[e];
		Cl(r.column, "getIsVisible", zd) && n.push(r);
	}
	return Nl(e.table, n, (e) => e.column.id, () => Cl(e, "getVisibleCellsByColumnId", Ud));
}
function Ud(e) {
	let t = ol(), n = e.getAllCells();
	for (let e = 0; e < n.length; e++) {
		let r = n[e];
		Cl(r.column, "getIsVisible", zd) && (t[r.column.id] = r);
	}
	return t;
}
function Wd(e) {
	return e.getAllFlatColumns().filter((e) => Cl(e, "getIsVisible", zd));
}
function Gd(e) {
	return e.getAllLeafColumns().filter((e) => Cl(e, "getIsVisible", zd));
}
function Kd(e, t) {
	ml(e, "columnVisibility", t);
}
function qd(e, t) {
	Kd(e, t ? ol() : Object.assign(ol(), il(e.initialState.columnVisibility ?? {})));
}
function Jd(e, t) {
	t ??= !Yd(e);
	let n = ol(), r = e.getAllLeafColumns();
	for (let e = 0; e < r.length; e++) {
		let i = r[e];
		n[i.id] = t || !Bd(i);
	}
	Kd(e, n);
}
function Yd(e) {
	return !e.getAllLeafColumns().some((e) => !Cl(e, "getIsVisible", zd));
}
function Xd(e) {
	return e.getAllLeafColumns().some((e) => Cl(e, "getIsVisible", zd));
}
function Zd(e) {
	return (t) => {
		Jd(e, t.target.checked);
	};
}
// node_modules/@tanstack/table-core/dist/features/column-visibility/columnVisibilityFeature.js
var Qd = {
	getInitialState: (e) => ({
		columnVisibility: Ld(),
		...e
	}),
	getDefaultTableOptions: (e) => ({ onColumnVisibilityChange: cl("columnVisibility", e) }),
	assignColumnPrototype: (e, t) => {
		Sl("columnVisibilityFeature", e, t, {
			column_getIsVisible: {
				fn: (e) => zd(e),
				memoDeps: (e) => [
					t.options.columns,
					t.atoms.columnVisibility?.get(),
					e.columns
				]
			},
			column_getCanHide: { fn: (e) => Bd(e) },
			column_getToggleVisibilityHandler: { fn: (e) => Vd(e) },
			column_toggleVisibility: { fn: (e, t) => Rd(e, t) }
		});
	},
	assignRowPrototype: (e, t) => {
		Sl("columnVisibilityFeature", e, t, {
			row_getVisibleCells: {
				fn: (e) => Hd(e),
				memoDeps: (e) => [
					e.getAllCells(),
					t.atoms.columnPinning?.get(),
					t.atoms.columnVisibility?.get()
				]
			},
			row_getVisibleCellsByColumnId: {
				fn: (e) => Ud(e),
				memoDeps: (e) => [e.getAllCells(), t.atoms.columnVisibility?.get()]
			}
		});
	},
	constructTableAPIs: (e) => {
		xl("columnVisibilityFeature", e, {
			table_getVisibleFlatColumns: {
				fn: () => Wd(e),
				memoDeps: () => [
					e.atoms.columnVisibility?.get(),
					e.atoms.columnOrder?.get(),
					e.atoms.grouping?.get(),
					e.options.columns,
					e.options.groupedColumnMode
				]
			},
			table_getVisibleLeafColumns: {
				fn: () => Gd(e),
				memoDeps: () => [
					e.atoms.columnVisibility?.get(),
					e.atoms.columnOrder?.get(),
					e.atoms.grouping?.get(),
					e.options.columns,
					e.options.groupedColumnMode
				]
			},
			table_setColumnVisibility: { fn: (t) => Kd(e, t) },
			table_resetColumnVisibility: { fn: (t) => qd(e, t) },
			table_toggleAllColumnsVisible: { fn: (t) => Jd(e, t) },
			table_getIsAllColumnsVisible: { fn: () => Yd(e) },
			table_getIsSomeColumnsVisible: { fn: () => Xd(e) },
			table_getToggleAllColumnsVisibilityHandler: { fn: () => Zd(e) }
		});
	}
}, $d = /([0-9]+)/gm;
/* @__NO_SIDE_EFFECTS__ */
function ef(e) {
	let t = Object.assign((e, n, r) => {
		let i = e.getValue(r), a = n.getValue(r), o = t.resolveDataValue;
		return o && (i = o(i), a = o(a)), t.sort(i, a, e, n, r);
	}, e);
	return t;
}
var tf = /* @__PURE__ */ ef({ sort: (e, t) => nf(e, t) });
function nf(e, t) {
	return e === t ? 0 : e > t ? 1 : -1;
}
// node_modules/@tanstack/table-core/dist/features/row-sorting/rowSortingFeature.utils.js
function rf() {
	return [];
}
function af(e, t) {
	ml(e, "sorting", t);
}
function of(e, t) {
	af(e, t ? [] : il(e.initialState.sorting ?? []));
}
function sf(e) {
	e.atoms.sorting && (e.options.autoResetAll ?? e.options.autoResetSorting ?? !1) && of(e);
}
function cf(e) {
	let t = e.table._rowModelFns.sortFns, n = e.table.getFilteredRowModel().flatRows.slice(0, 10), r, i = !1;
	for (let t = 0; t < n.length; t++) {
		let a = n[t].getValue(e.id);
		if (Object.prototype.toString.call(a) === "[object Date]") {
			r = "datetime";
			break;
		}
		if (typeof a == "string" && (i = !0, a.split($d).length > 1)) {
			r = "alphanumeric";
			break;
		}
	}
	if (!r && i && (r = "text"), r) {
		let e = t?.[r];
		if (e || r === "alphanumeric" && (e = t?.text), e) return e;
	}
	return tf;
}
function lf(e) {
	let t = e.table.getFilteredRowModel().flatRows.slice(0, 10);
	for (let n = 0; n < t.length; n++) {
		let r = t[n].getValue(e.id);
		if (r != null) return typeof r == "string" ? "asc" : "desc";
	}
	return "desc";
}
function uf(e) {
	let t = e.table._rowModelFns.sortFns;
	return hl(e.columnDef.sortFn) ? e.columnDef.sortFn : e.columnDef.sortFn === "auto" ? cf(e) : t?.[e.columnDef.sortFn] ?? tf;
}
function df(e, t, n) {
	let r = pf(e, n && hf(e)), i = t !== void 0;
	af(e.table, (a) => {
		let o = a.findIndex((t) => t.id === e.id), s = o === -1 ? void 0 : a[o], c = [], l, u = i ? t : r === "desc", d = !!(a.length && hf(e) && n);
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
function ff(e) {
	return e.columnDef.sortDescFirst ?? e.table.options.sortDescFirst ?? lf(e) === "desc" ? "desc" : "asc";
}
function pf(e, t) {
	let n = ff(e), r = gf(e);
	return r ? r !== n && (e.table.options.enableSortingRemoval ?? !0) && (!t || (e.table.options.enableMultiRemove ?? !0)) ? !1 : r === "desc" ? "asc" : "desc" : n;
}
function mf(e) {
	return (e.columnDef.enableSorting ?? !0) && (e.table.options.enableSorting ?? !0) && !!e.accessorFn;
}
function hf(e) {
	return e.columnDef.enableMultiSort ?? e.table.options.enableMultiSort ?? !!e.accessorFn;
}
function gf(e) {
	let t = e.table.atoms.sorting?.get()?.find((t) => t.id === e.id);
	return t ? t.desc ? "desc" : "asc" : !1;
}
function _f(e) {
	return e.table.atoms.sorting?.get()?.findIndex((t) => t.id === e.id) ?? -1;
}
function vf(e) {
	af(e.table, (t) => t.length ? t.filter((t) => t.id !== e.id) : []);
}
function yf(e) {
	let t = mf(e);
	return (n) => {
		t && df(e, void 0, hf(e) ? e.table.options.isMultiSortEvent?.(n) : !1);
	};
}
// node_modules/@tanstack/table-core/dist/features/row-sorting/rowSortingFeature.js
var bf = {
	getInitialState(e) {
		return {
			sorting: rf(),
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
			onSortingChange: cl("sorting", e),
			isMultiSortEvent: (e) => e.shiftKey
		};
	},
	assignColumnPrototype(e, t) {
		Sl("rowSortingFeature", e, t, {
			column_getAutoSortFn: { fn: (e) => cf(e) },
			column_getAutoSortDir: { fn: (e) => lf(e) },
			column_getSortFn: { fn: (e) => uf(e) },
			column_toggleSorting: { fn: (e, t, n) => df(e, t, n) },
			column_getFirstSortDir: { fn: (e) => ff(e) },
			column_getNextSortingOrder: { fn: (e, t) => pf(e, t) },
			column_getCanSort: { fn: (e) => mf(e) },
			column_getCanMultiSort: { fn: (e) => hf(e) },
			column_getIsSorted: { fn: (e) => gf(e) },
			column_getSortIndex: { fn: (e) => _f(e) },
			column_clearSorting: { fn: (e) => vf(e) },
			column_getToggleSortingHandler: { fn: (e) => yf(e) }
		});
	},
	constructTableAPIs(e) {
		xl("rowSortingFeature", e, {
			table_autoResetSorting: { fn: () => sf(e) },
			table_setSorting: { fn: (t) => af(e, t) },
			table_resetSorting: { fn: (t) => of(e, t) }
		});
	}
};
// node_modules/@tanstack/table-core/dist/features/column-filtering/filterRowsUtils.js
function xf(e, t, n) {
	return n.options.filterFromLeafRows ? Sf(e, t, n) : Cf(e, t, n);
}
function Sf(e, t, n) {
	let r = [], i = ol(), a = n.options.maxLeafRowFilterDepth ?? 100, o = (e, r = 0) => {
		let i = [];
		for (let s of e) {
			let e = gu(n, s.id, s.original, s.index, s.depth, void 0, s.parentId);
			e.columnFilters = s.columnFilters, e.columnFiltersMeta = s.columnFiltersMeta, s.subRows.length && r < a ? (e.subRows = o(s.subRows, r + 1), (e.subRows.length || t(e)) && i.push(e)) : t(e) && (e.subRows = s.subRows, i.push(e));
		}
		return i;
	}, s = o(e);
	return wf(s, r, i), {
		rows: s,
		flatRows: r,
		rowsById: i
	};
}
function Cf(e, t, n) {
	let r = [], i = ol(), a = n.options.maxLeafRowFilterDepth ?? 100, o = (e, s = 0) => {
		let c = [];
		for (let l of e) if (t(l)) {
			if (l.subRows.length && s < a) {
				let e = gu(n, l.id, l.original, l.index, l.depth, void 0, l.parentId), t = l;
				e.columnFilters = t.columnFilters, e.columnFiltersMeta = t.columnFiltersMeta, c.push(e), r.push(e), i[e.id] = e, e.subRows = o(l.subRows, s + 1);
			} else c.push(l), r.push(l), i[l.id] = l, l.subRows.length && s >= a && wf(l.subRows, r, i);
		}
		return c;
	};
	return {
		rows: o(e),
		flatRows: r,
		rowsById: i
	};
}
function wf(e, t, n) {
	for (let r of e) t.push(r), n[r.id] = r, r.subRows.length && wf(r.subRows, t, n);
}
// node_modules/@tanstack/table-core/dist/features/column-filtering/createFilteredRowModel.js
function Tf() {
	return (e) => {
		let t = e;
		return yl({
			feature: "columnFilteringFeature",
			table: t,
			fnName: "table.getFilteredRowModel",
			memoDeps: () => [
				t.getPreFilteredRowModel(),
				t.atoms.columnFilters?.get(),
				t.atoms.globalFilter?.get()
			],
			fn: () => Ef(t),
			onAfterUpdate: vl(() => Rl(t))
		});
	};
}
function Ef(e) {
	let t = e.getPreFilteredRowModel(), n = e.atoms.columnFilters?.get(), r = e.atoms.globalFilter?.get(), i = r != null && r !== "";
	if (!t.rows.length || !n?.length && !i) {
		let e = t.flatRows;
		for (let t = 0; t < e.length; t++) {
			let n = e[t];
			n.columnFilters = ol(), n.columnFiltersMeta = ol();
		}
		return t;
	}
	let a = [], o = [];
	n?.forEach((t) => {
		let n = Xl(e, t.id);
		if (!n) return;
		let r = Dd(n);
		r && a.push({
			id: t.id,
			filterFn: r,
			resolvedValue: r.resolveFilterValue?.(t.value) ?? t.value
		});
	});
	let s = n?.map((e) => e.id) ?? [];
	if (i) {
		let t = Pl(e), n = t ? e.getAllLeafColumns().filter(Fl) : [];
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
		if (t.columnFilters = ol(), t.columnFiltersMeta = ol(), a.length) for (let e = 0; e < a.length; e++) {
			let n = a[e], r = n.id;
			t.columnFilters[r] = n.filterFn(t, r, n.resolvedValue, (e) => {
				t.columnFiltersMeta ||= ol(), t.columnFiltersMeta[r] = e;
			});
		}
		if (o.length) {
			for (let e = 0; e < o.length; e++) {
				let n = o[e], r = n.id;
				if (n.filterFn(t, r, n.resolvedValue, (e) => {
					t.columnFiltersMeta ||= ol(), t.columnFiltersMeta[r] = e;
				})) {
					t.columnFilters.__global__ = !0;
					break;
				}
			}
			t.columnFilters.__global__ !== !0 && (t.columnFilters.__global__ = !1);
		}
	}
	return xf(t.rows, (e) => {
		for (let t = 0; t < s.length; t++) if (e.columnFilters[s[t]] === !1) return !1;
		return !0;
	}, e);
}
// node_modules/@tanstack/table-core/dist/features/row-sorting/createSortedRowModel.js
function Df() {
	return (e) => {
		let t = e;
		return yl({
			feature: "rowSortingFeature",
			table: t,
			fnName: "table.getSortedRowModel",
			memoDeps: () => [t.atoms.sorting?.get(), t.getPreSortedRowModel()],
			fn: () => Of(t),
			onAfterUpdate: vl(() => Rl(t))
		});
	};
}
function Of(e) {
	let t = e.getPreSortedRowModel(), n = e.atoms.sorting?.get();
	if (!t.rows.length || !n?.length) return t;
	let r = [], i = n.filter((t) => {
		let n = e.getColumn(t.id);
		return n ? mf(n) : !1;
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
			sortFn: uf(r)
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
					al(s, a), s.subRows = e.rows, t[i] = s, r[o] = s, n = !0;
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
function kf() {
	return {
		createOptionsStore: !0,
		wrapExternalAtoms: !1,
		addSubscription: () => {
			throw Error("Feature not supported in current reactivity implementation");
		},
		unmount: () => {
			throw Error("Feature not supported in current reactivity implementation");
		},
		batch: gd,
		schedule: (e) => queueMicrotask(e),
		untrack: (e) => e(),
		createReadonlyAtom: (e, t) => yd(() => e(), { compare: t?.compare }),
		createWritableAtom: (e, t) => yd(e, { compare: t?.compare })
	};
}
// src/components/table/values.ts
function Af(e, t) {
	let { data: n } = e;
	return "values" in n ? n.values[t] ?? null : n.texts[n.codes[t] ?? -1] ?? null;
}
function jf(e, t) {
	return Object.fromEntries(e.columns.map((e) => [e.key, Af(e, t)]));
}
function Mf(e) {
	return "values" in e.data;
}
function Nf(e, t) {
	let n = e.columns.map(({ key: e }) => e), r = n.filter((e) => t?.includes(e));
	if (r.length) return r;
	let i = e.columns.filter((e) => e.main).map(({ key: e }) => e);
	return i.length ? i : n;
}
// src/components/table/search.ts
var Pf = {
	">": (e, t) => e > t,
	">=": (e, t) => e >= t,
	"<": (e, t) => e < t,
	"<=": (e, t) => e <= t,
	"=": (e, t) => e === t
};
function Ff(e, t, n) {
	let r = {
		words: [],
		conditions: []
	};
	for (let i of t.split(/\s+/).filter(Boolean)) {
		let t = If(e, i, n);
		t ? r.conditions.push(t) : r.words.push(i.toLowerCase());
	}
	return r;
}
function If(e, t, n) {
	let r = /^([\w-]*)(>=|<=|>|<|=)(.+)$/.exec(t);
	if (!r) return null;
	let [, i = "", a, o = ""] = r, s = i ? Lf(e, i) : e.columns.find(({ key: e }) => e === n && e);
	if (!s || !Mf(s)) return null;
	let c = Ln(s.kind, o);
	return c === null ? null : {
		column: s,
		operator: a,
		value: c
	};
}
function Lf(e, t) {
	let n = Rf(t), r = e.columns.filter(Mf), i = (e) => [Rf(e.key), Rf(e.title)];
	return r.find((e) => i(e).includes(n)) ?? r.find((e) => i(e).some((e) => e.startsWith(n)));
}
function Rf(e) {
	return e.toLowerCase().replace(/[^a-z0-9]/g, "");
}
function zf(e, t, n) {
	let r = n.conditions.every(({ column: e, operator: n, value: r }) => {
		let i = Af(e, t);
		return typeof i == "number" && Pf[n](i, r);
	});
	if (!r || !n.words.length) return r;
	let i = e.columns.map((e) => Af(e, t)).filter((e) => typeof e == "string").map((e) => e.toLowerCase());
	return n.words.every((e) => i.some((t) => t.includes(e)));
}
function Bf(e, t) {
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
var Vf = td({
	coreReactivityFeature: kf(),
	columnFilteringFeature: Id,
	columnVisibilityFeature: Qd,
	rowSortingFeature: bf,
	filteredRowModel: Tf(),
	sortedRowModel: Df()
}), Hf = "*row";
function Uf(e) {
	let t = wd({
		features: Vf,
		data: Array.from({ length: e.rows }, (e, t) => ({ at: t })),
		columns: [...e.columns.map(Wf), qf(e)]
	});
	return (n) => {
		let r = n.sort === void 0 ? e.sort : n.sort, i = Ff(e, n.search ?? "", r?.key), a = new Set(Nf(e, n.columns));
		t.setSorting(r ? [{
			id: r.key,
			desc: r.descending
		}] : []);
		let o = i.words.length > 0 || i.conditions.length > 0;
		t.setColumnFilters(o ? [{
			id: Hf,
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
function Wf(e) {
	let t = Gf(e);
	return {
		id: e.key,
		accessorFn: (t) => Af(e, t.at) ?? void 0,
		sortFn: (e, n) => t(e.original.at) - t(n.original.at),
		sortUndefined: "last"
	};
}
function Gf({ data: e }) {
	if ("values" in e) return (t) => e.values[t] ?? 0;
	let t;
	return (n) => (t ??= Kf(e.texts), t.get(e.codes[n] ?? -1) ?? 0);
}
function Kf(e) {
	let { compare: t } = new Intl.Collator("en", { numeric: !0 }), n = e.map((e, t) => t);
	return n.sort((n, r) => t(e[n] ?? "", e[r] ?? "")), new Map(n.map((e, t) => [e, t]));
}
function qf(e) {
	return {
		id: Hf,
		accessorFn: (e) => e.at,
		filterFn: (t, n, r) => zf(e, t.original.at, r)
	};
}
function Jf(e, t, n) {
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
var Yf = 400, Xf = {
	least: 6,
	kept: 20,
	most: 64
};
function Zf(e, t, n) {
	let r = e.map((e) => $f(e, t)), i = r.reduce((e, { grows: t }) => e + t, 0);
	if (i > 0) return r.map((e) => ({
		...e,
		grows: e.grows / i
	}));
	let a = n ? Qf(e, r) : -1;
	return r.map((e, t) => ({
		...e,
		grows: +(t === a)
	}));
}
function Qf(e, t) {
	let n = t.map(({ width: t }, n) => Mf(e[n]) ? 0 : t), r = Math.max(...n);
	return r > 0 ? n.indexOf(r) : -1;
}
function $f(e, t) {
	let n = Array.from({ length: Math.min(t, Yf) }, (t, n) => Dn(e.kind, Af(e, n))), r = (e) => e.reduce((e, t) => Math.max(e, t), 0), i = r(e.title.split(" ").map(ar)) + 2.5;
	if (!Mf(e)) {
		let e = ep(n.map(({ digits: e }) => ar(e))) + 1, t = Math.max(Math.min(e, Xf.kept), i, Xf.least);
		return {
			width: t,
			grows: Math.max(Math.min(e, Xf.most) - t, 0),
			decimals: 0,
			unit: 0,
			most: 0
		};
	}
	let a = r(n.map(({ digits: e }) => e.split(".")[1]?.length ?? 0)), o = r(n.map((e) => e.unit.length)), s = r(n.map(({ digits: e }) => (e.split(".")[0] ?? "").length)) + (a ? a + .5 : 0) + (o ? o + 1 : 0) + .5;
	return {
		width: Math.max(s, i, e.bar ? 8 : 5),
		grows: 0,
		decimals: a,
		unit: o,
		most: tp(e)
	};
}
function ep(e) {
	let t = e.toSorted((e, t) => e - t), n = t.at(-1) ?? 0;
	return n <= Xf.kept ? n : t[Math.ceil(t.length * .95) - 1] ?? 0;
}
function tp(e) {
	return !e.bar || !("values" in e.data) ? 0 : e.data.values.reduce((e, t) => Math.max(e, t ?? 0), 0);
}
function np(e, t) {
	if (!t) return 0;
	let n = e.split(".")[1]?.length;
	return n === void 0 ? t + .5 : t - n;
}
// src/components/table/Cell.tsx
function rp(e) {
	let { column: t, value: n } = e;
	if (Mf(t)) return /* @__PURE__ */ W(ip, { ...e });
	if (n === null) return /* @__PURE__ */ W("td", {
		class: "none",
		children: "-"
	});
	let r = String(n);
	return /* @__PURE__ */ W("td", {
		title: r,
		children: /* @__PURE__ */ W("span", {
			class: "named",
			children: [/* @__PURE__ */ W(ap, {
				...e,
				children: /* @__PURE__ */ W(op, {
					text: r,
					words: e.words
				})
			}), Zn(r) && /* @__PURE__ */ W("button", {
				type: "button",
				class: "opener",
				tabIndex: e.tabbed ? void 0 : -1,
				onClick: e.onOpen,
				"aria-expanded": e.open,
				"aria-label": `Whole name: ${r}`
			})]
		})
	});
}
function ip({ column: e, value: t, measures: n, row: r }) {
	if (t === null) return /* @__PURE__ */ W("td", {
		class: "number none",
		children: "-"
	});
	let { digits: i, unit: a } = Dn(e.kind, t), o = np(i, n.decimals), s = n.most > 0 ? Math.min(Math.max(Number(t) / n.most, 0), 1) : 0;
	return /* @__PURE__ */ W("td", {
		class: s > 0 ? "number barred" : "number",
		style: s > 0 ? { "--share": `${(100 * s).toFixed(2)}%` } : void 0,
		children: /* @__PURE__ */ W(ap, {
			column: e,
			value: t,
			row: r,
			children: [
				i,
				o > 0 && /* @__PURE__ */ W("span", { style: { paddingRight: `${o}ch` } }),
				n.unit > 0 && /* @__PURE__ */ W("span", {
					class: "unit",
					style: { minWidth: `${n.unit}ch` },
					children: a && ` ${a}`
				})
			]
		})
	});
}
function ap({ column: e, value: t, row: n, children: r }) {
	let i = je(bn);
	if (!e.link || t === null) return r;
	let a = i.hrefOfCell(e.link, String(t), n());
	return a ? /* @__PURE__ */ W("a", {
		href: a,
		children: r
	}) : r;
}
function op({ text: e, words: t }) {
	let [n, r] = $n(e);
	return /* @__PURE__ */ W("span", {
		class: "name",
		style: er(r),
		children: [/* @__PURE__ */ W("span", {
			class: "head",
			children: /* @__PURE__ */ W(sp, {
				text: n,
				words: t
			})
		}), /* @__PURE__ */ W(sp, {
			text: r,
			words: t
		})]
	});
}
function sp({ text: e, words: t }) {
	return t.length ? /* @__PURE__ */ W(b, { children: Bf(e, t).map((e, t) => e.found ? /* @__PURE__ */ W("mark", { children: e.text }, t) : e.text) }) : /* @__PURE__ */ W(b, { children: e });
}
// src/components/table/useCutNames.ts
var cp = 120;
function lp(e) {
	Oe(() => {
		let t = setTimeout(() => e.current && up(e.current), cp);
		return () => clearTimeout(t);
	}), Oe(() => {
		let t = e.current;
		if (!t) return;
		let n = new ResizeObserver(() => up(t));
		return n.observe(t), () => n.disconnect();
	}, [e]);
}
function up(e) {
	let t = [...e.querySelectorAll("tr:not(.open) .named")], n = t.map((e) => {
		let t = e.querySelector(".head");
		return t !== null && t.scrollWidth > t.clientWidth;
	});
	t.forEach((e, t) => {
		e.toggleAttribute("data-cut", n[t]);
	});
}
// node_modules/@tanstack/virtual-core/dist/esm/lazy-measurements.js
function dp(e) {
	return typeof e == "object" ? e.key : e;
}
function fp(e, t) {
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
function pp(e, t, n) {
	let r = n.initialDeps ?? [], i, a = !0;
	function o() {
		let o = e();
		return (o.length !== r.length || o.some((e, t) => r[t] !== e)) && (r = o, i = t(...o), n?.onChange && !(a && n.skipInitialOnChange) && n.onChange(i), a = !1), i;
	}
	return o.updateDeps = (e) => {
		r = e;
	}, o;
}
function mp(e, t) {
	if (e === void 0) throw Error(`Unexpected undefined${t ? `: ${t}` : ""}`);
	return e;
}
var hp = (e, t) => Math.abs(e - t) < 1.01, gp = (e, t, n) => {
	let r;
	return Object.assign(function(...i) {
		e.clearTimeout(r), r = e.setTimeout(() => t.apply(this, i), n);
	}, { cancel: () => {
		e.clearTimeout(r);
	} });
};
// node_modules/@tanstack/virtual-core/dist/esm/scroll-classifier.js
function _p({ offset: e, isScrolling: t, elementMax: n, holdOffset: r, scrollOffset: i, pendingWrite: a, clampedMaxAtWrite: o }) {
	return t && a === null && e === i ? "spurious" : a !== null && Math.abs(e - a.target) < 1.5 ? "readBack" : a !== null && !a.smooth && n !== null && a.target > n + r + .5 && Math.abs(e - (n + r)) < 1.5 || a !== null && !a.smooth && a.lowMaxes?.some((t) => Math.abs(e - t) < 1.5) ? "clampedReadBack" : o !== null && Math.abs(e - o) < 1.5 ? "clampedEcho" : "external";
}
var vp = (e) => e === "smooth" || e === "smoothFinishing";
function yp({ kind: e, offset: t, command: n, target: r }) {
	return e !== "spurious" && e !== "readBack" && e !== "clampedReadBack" && n?.index != null && n.phase !== "queued" && !vp(n.phase) && !hp(t, n.lastTargetOffset) && !hp(t, r()) && e !== "clampedEcho";
}
var bp = 40;
function xp(e) {
	let t = e[e.length - 1];
	if (t === void 0) return !1;
	let n = e.length - 2;
	for (; n >= 0 && t.t - e[n].t < bp;) n--;
	if (n < 0) return !1;
	let r = e[n], i = n - 1;
	for (; i >= 0 && r.t - e[i].t < bp;) i--;
	if (i < 0) return !1;
	let a = e[i], o = (t.offset - r.offset) / (t.t - r.t), s = (r.offset - a.offset) / (r.t - a.t);
	return o * s >= 0 && Math.abs(o) >= 2 * Math.abs(s) && Math.abs(o) - Math.abs(s) >= .8;
}
function Sp(e) {
	let t = e[e.length - 1];
	if (t === void 0) return !1;
	let n = e.length - 2;
	for (; n >= 0 && t.t - e[n].t < bp;) n--;
	if (n < 0) return !1;
	let r = e[n];
	return Math.abs(t.offset - r.offset) / (t.t - r.t) >= .05;
}
// node_modules/@tanstack/virtual-core/dist/esm/ios-gesture.js
var Cp, wp = () => {
	if (Cp !== void 0) return Cp;
	if (typeof navigator > "u") return Cp = !1;
	if (/iP(hone|od|ad)/.test(navigator.userAgent)) return Cp = !0;
	let e = navigator.maxTouchPoints;
	return Cp = navigator.platform === "MacIntel" && e !== void 0 && e > 0;
}, Tp, Ep = () => Tp === void 0 ? Tp = wp() && typeof CSS < "u" && typeof CSS.supports == "function" && CSS.supports("overflow-anchor: auto") : Tp, Dp = () => !wp() || Ep(), Op = {
	capture: !0,
	passive: !0
}, kp = class {
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
			return e.addEventListener("touchstart", t, Op), e.addEventListener("touchend", n, Op), e.addEventListener("touchcancel", n, Op), () => {
				e.removeEventListener("touchstart", t, Op), e.removeEventListener("touchend", n, Op), e.removeEventListener("touchcancel", n, Op), this.end();
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
}, Ap = (e) => {
	let { clientWidth: t, clientHeight: n } = e;
	return {
		width: t,
		height: n
	};
}, jp = (e) => {
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
}, Mp = (e) => e, Np = (e) => {
	let t = e.overscan * Math.max(e.lanes ?? 1, 1), n = Math.max(e.startIndex - t, 0), r = Math.min(e.endIndex + t, e.count - 1) - n + 1, i = Array(r);
	for (let e = 0; e < r; e++) i[e] = n + e;
	return i;
}, Pp = (e, t) => {
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
	if (i(Ap(n)), !r.ResizeObserver) return () => {};
	let a = jp(r), o = new r.ResizeObserver(() => {
		let t = () => {
			i(Ap(n));
		};
		e.options.useAnimationFrameWithResizeObserver ? a.schedule(t) : t();
	});
	return o.observe(n, { box: "content-box" }), () => {
		o.unobserve(n), a.cancel();
	};
}, Fp = { passive: !0 }, Ip = typeof window > "u" || "onscrollend" in window, Lp = (e, t, n) => {
	let r = e.scrollElement;
	if (!r) return;
	let i = e.targetWindow;
	if (!i) return;
	let a = e.options.useScrollendEvent && Ip, o = 0, s = a ? null : gp(i, () => t(n(r), !1), e.options.isScrollingResetDelay), c = (e) => () => {
		o = n(r), s?.(), t(o, e);
	}, l = c(!0), u = c(!1);
	return r.addEventListener("scroll", l, Fp), a && r.addEventListener("scrollend", u, Fp), () => {
		r.removeEventListener("scroll", l), a && r.removeEventListener("scrollend", u), s?.cancel();
	};
}, Rp = (e, t) => Lp(e, t, (t) => {
	let { horizontal: n, isRtl: r } = e.options;
	return n ? t.scrollLeft * (r && -1 || 1) : t.scrollTop;
}), zp = (e, t, n) => {
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
}, Bp = (e, { adjustments: t = 0, behavior: n }, r) => {
	var i;
	let { scrollElement: a, options: o } = r, s = e + t, c = o.horizontal && o.isRtl && a !== null && "ownerDocument" in a;
	(i = a?.scrollTo) == null || i.call(a, {
		[o.horizontal ? "left" : "top"]: c ? -s : s,
		behavior: n
	});
}, Vp = (e, t) => e === "smooth" ? t ? "smoothLanded" : "smooth" : "instant", Hp = (e) => e?.phase === "smooth" || e?.phase === "smoothLanded";
function Up(e, t, n, r) {
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
var Wp = class {
	constructor(e) {
		this.unsubs = [], this.scrollElement = null, this.targetWindow = null, this.isScrolling = !1, this.scrollState = null, this.measurementsCache = [], this._singleLaneMeasurements = null, this.itemSizeCache = /* @__PURE__ */ new Map(), this.itemSizeCacheVersion = 0, this.laneAssignments = /* @__PURE__ */ new Map(), this.pendingMin = null, this.prevLanes = void 0, this.lanesChangedFlag = !1, this.lanesSettling = !1, this.pendingScrollAnchor = null, this.scrollRect = null, this.scrollOffset = null, this.scrollDirection = null, this._holdOffset = 0, this._reportedOverscroll = !1, this._iosGesture = new kp({
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
				e?.phase === "queued" && Sp(e.samples ?? []) && (this.scrollState = null), this._flushHoldIfReady(!0), this._writeAwaitingCommand(), this._retryClampedAdjustment();
			}
		}), this._lastElementOffset = null, this.pendingWrite = null, this._clampedAdjustment = null, this.elementsCache = /* @__PURE__ */ new Map(), this._resizeBatch = null, this.now = () => {
			var e;
			return ((e = this.targetWindow?.performance)?.now)?.call(e) ?? Date.now();
		}, this.observer = /* @__PURE__ */ (() => {
			let e = null, t = null, n = !1, r = !1, i = /* @__PURE__ */ new Set(), a = () => {
				if (e) return e;
				let r = this.targetWindow;
				if (!r || !r.ResizeObserver) return null;
				let i = t = jp(r);
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
				getItemKey: Mp,
				rangeExtractor: Np,
				onChange: () => {},
				measureElement: zp,
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
				let e = n.count, o = t.count, s = this.getMeasurements(), c = this._singleLaneMeasurements?.items ?? s, l = (e) => dp(c[e]), u = e > 0 ? l(0) : null, d = e > 0 ? l(e - 1) : null;
				if (o !== e || e > 0 && o > 0 && (t.getItemKey(0) !== u || t.getItemKey(o - 1) !== d)) {
					a = !0;
					let c = e > 0 ? this.getVirtualItemForOffset(this.getScrollOffset()) ?? s[0] : null;
					c && (r = [c.key, this.getScrollOffset() - c.start]);
					let u = t.followOnAppend === !0 ? "auto" : t.followOnAppend || null;
					u && o > 0 && this.isAtEnd(n.scrollEndThreshold) && (e === 0 || t.getItemKey(o - 1) !== d) && (o > e || Up(e, o, l, t.getItemKey)) && (i = u);
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
		}, this.maybeNotify = pp(() => (this.calculateRange(), [
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
					a === "readBack" ? e = this.pendingWrite.target : a === "clampedReadBack" && this.scrollState?.index != null && e < this.getMaxScrollOffset() - 1.5 ? this.scrollState.lastTargetOffset = e : yp({
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
							}], (s !== null && this.scrollDirection !== s || xp(c.samples)) && (this.scrollState = null);
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
			this.pendingScrollAnchor = null, t && this.scrollElement && this.options.enabled && (t.kind === "anchor" ? this._canWriteScroll() ? Hp(this.scrollState) && !hp(this.getScrollOffset() - t.delta, this.scrollState.lastTargetOffset) || (this._followOffsetTarget(t.delta), this._scrollToOffset(this.getScrollOffset())) : (this._holdOffset += t.delta, this._followOffsetTarget(t.delta), this.notify(!1)) : this.scrollToEnd({ behavior: t.behavior })), this._flushHoldIfReady(!1), this._retryClampedAdjustment();
		}, this._classifyScrollEvent = (e, t, n) => _p({
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
			e.lastTargetOffset = n, this._clampedAdjustment = null, e.phase = Vp(t, e.index != null && hp(n, this.getScrollOffset())), this._scrollToOffset(n, { behavior: t }), this.scheduleScrollReconcile();
		}, this._readElementOffset = () => {
			let e = this.scrollElement;
			if (e == null) return null;
			let { horizontal: t, isRtl: n } = this.options;
			return typeof e.scrollTop == "number" ? t ? e.scrollLeft * (n && -1 || 1) : e.scrollTop : typeof e.scrollY == "number" ? t ? e.scrollX : e.scrollY : null;
		}, this._canWriteScroll = () => !(wp() && this._iosGesture.inMotion()) && !this._reportedOverscroll, this._flushHoldIfReady = (e) => {
			if (this._holdOffset === 0 || !this.scrollElement || !this.options.enabled || !this._canWriteScroll() || this.scrollState?.phase === "smooth") return;
			this._holdOffset = 0, this.scrollOffset !== null && this.scrollOffset < 0 && (this.scrollOffset = 0), this.notify(e);
			let t = this.getCommandWrittenOffset() ?? this.getScrollOffset();
			this._clampedAdjustment = this._clampedBy(t), this._scrollToOffset(t);
		}, this.rafId = null, this.getSize = () => this.options.enabled ? (this.scrollRect = this.scrollRect ?? this.options.initialRect, this.scrollRect[this.options.horizontal ? "width" : "height"]) : (this.scrollRect = null, 0), this.getScrollOffset = () => this.options.enabled ? (this.scrollOffset = this.scrollOffset ?? (typeof this.options.initialOffset == "function" ? this.options.initialOffset() : this.options.initialOffset), this.scrollOffset) : (this.scrollOffset = null, 0), this.getMeasurementOptions = pp(() => [
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
		}), { key: !1 }), this.isIndexInRange = (e) => e >= 0 && e < this.options.count, this.getMeasurements = pp(() => [this.getMeasurementOptions(), this.itemSizeCacheVersion], ({ count: e, paddingStart: t, scrollMargin: n, getItemKey: r, enabled: i, lanes: a, laneAssignmentMode: o, gap: s }, c) => {
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
				let d = fp(o, a);
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
		}), this.calculateRange = pp(() => [
			this.getMeasurements(),
			this.getSize(),
			this.getScrollOffset(),
			this.options.lanes,
			this._getLayoutTotalSize() + this.options.scrollMargin
		], (e, t, n, r, i) => {
			if (e.length === 0 || t === 0) return this.range = null, null;
			let a = Math.max(i - t, 0);
			return this.range = qp(e, t, Math.min(n, a), r, r === 1 && this._singleLaneMeasurements !== null ? this._singleLaneMeasurements.flat : null), this.range;
		}, {
			key: !1,
			debug: () => this.options.debug
		}), this.getVirtualIndexes = pp(() => {
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
			if (!Hp(this.scrollState)) return !0;
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
				let o = this.options.anchorTo === "end" && !Hp(this.scrollState) && this.getVirtualDistanceFromEnd() <= this.options.scrollEndThreshold, l = o ? this._getLayoutTotalSize() : 0, u = this.getScrollOffset(), d = this.itemSizeCache.has(a) ? i + s <= u && this.scrollDirection !== "backward" : i < u, f = !Hp(this.scrollState) && (this.shouldAdjustScrollPositionOnItemSizeChange === void 0 ? d : this.shouldAdjustScrollPositionOnItemSizeChange(this.measurementsCache[e] ?? {
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
		}, this.getVirtualItems = pp(() => [
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
			return mp(t[Gp(0, t.length - 1, r ? (e) => n[e * 2] : (e) => mp(t[e]).start, e)]);
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
			return !(wp() && this._iosGesture.dragging()) && e !== null && !hp(e, this.getScrollOffset());
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
		if (!n && hp(e, this.getScrollOffset())) {
			if (this.scrollState.phase === "smooth" ? this.scrollState.phase = "smoothLanded" : this.scrollState.phase === "smoothFinishing" && (this.scrollState.phase = "instant"), this.scrollState.stableFrames++, this.scrollState.stableFrames >= t) {
				this.getScrollOffset() !== e && this._scrollToOffset(e, { behavior: "auto" }), this.scrollState = null;
				return;
			}
		} else if (this.scrollState.stableFrames = 0, n) {
			let t = this.getSize() || 600, n = Math.abs(e - this.getScrollOffset()), r = Hp(this.scrollState) && n > t;
			this.scrollState.lastTargetOffset = e, r ? this.scrollState.phase = "smooth" : this.scrollState.phase === "smooth" ? this.scrollState.phase = "smoothFinishing" : this.scrollState.phase === "smoothLanded" && (this.scrollState.phase = "instant"), this._scrollToOffset(e, { behavior: r ? "smooth" : "auto" });
		}
		this.scheduleScrollReconcile();
	}
	_startScroll(e, t, n, r) {
		this.pendingScrollAnchor = null, this._clampedAdjustment = null;
		let i = this._iosGesture.tail();
		if (r === "absolute" && i !== null) {
			if (i === "fling" && Dp()) {
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
			phase: Vp(n, e.index != null && hp(t, this.getScrollOffset()))
		}, this._scrollToOffset(t, { behavior: n }), this.scheduleScrollReconcile();
	}
}, Gp = (e, t, n, r) => {
	for (; e <= t;) {
		let i = (e + t) / 2 | 0, a = n(i);
		if (a < r) e = i + 1;
		else if (a > r) t = i - 1;
		else return i;
	}
	return e > 0 ? e - 1 : 0;
};
function Kp(e, t, n) {
	let r = 0;
	for (; r <= t;) {
		let i = (r + t) / 2 | 0, a = e[i * 2];
		if (a < n) r = i + 1;
		else if (a > n) t = i - 1;
		else return i;
	}
	return r > 0 ? r - 1 : 0;
}
function qp(e, t, n, r, i) {
	let a = e.length - 1;
	if (e.length <= r) return {
		startIndex: 0,
		endIndex: a
	};
	if (r === 1 && i !== null) {
		let e = Kp(i, a, n), r = e, o = n + t;
		for (; r < a && i[r * 2] + i[r * 2 + 1] < o;) r++;
		return {
			startIndex: e,
			endIndex: r
		};
	}
	let o = Gp(0, a, (t) => e[t].start, n), s = o;
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
var Jp = 30;
function Yp(e, t, { enabled: n, opened: r }) {
	let [, i] = De((e) => e + 1, 0), a = {
		count: e.length,
		enabled: n,
		overscan: 12,
		estimateSize: () => Jp,
		getItemKey: (t) => e[t] ?? t,
		getScrollElement: () => t.current,
		scrollToFn: Bp,
		observeElementRect: Pp,
		observeElementOffset: Rp,
		onChange: () => i(0)
	}, [o] = B(() => new Wp(a));
	o.setOptions(a), Oe(() => o._didMount(), [o]), Oe(() => o._willUpdate()), Oe(() => {
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
function Xp(e) {
	let { block: t, arranged: n, measures: r, scrolled: i, printing: a, wholeNames: o, tabbed: s } = e, c = n.rows.length > 30 && !a, [l, u] = B(/* @__PURE__ */ new Set()), d = (e) => l.has(e) !== o;
	lp(i);
	let { items: f, above: p, below: m, measure: h } = Yp(n.rows, i, {
		enabled: c,
		opened: o || l.size > 0
	}), g = (e) => {
		let t = new Set(l);
		t.delete(e) || t.add(e), u(t);
	}, _ = (e, i, a = null) => /* @__PURE__ */ W("tr", {
		ref: a,
		"data-index": i,
		"aria-rowindex": i + 2,
		class: d(e) ? "open" : "",
		children: n.columns.map((i, a) => /* @__PURE__ */ W(rp, {
			column: i,
			value: Af(i, e),
			measures: r[a],
			words: n.query.words,
			row: () => jf(t, e),
			onOpen: () => g(e),
			open: d(e),
			tabbed: s
		}, i.key))
	}, e), v = o ? "whole-names" : "";
	if (!c) return /* @__PURE__ */ W("tbody", {
		class: v,
		children: n.rows.slice(0, 50).map((e, t) => _(e, t))
	});
	let y = n.columns.length;
	return /* @__PURE__ */ W("tbody", {
		class: v,
		children: [
			/* @__PURE__ */ W(Zp, {
				height: p,
				width: y
			}),
			f.map(({ index: e }) => _(n.rows[e], e, h)),
			/* @__PURE__ */ W(Zp, {
				height: m,
				width: y
			})
		]
	});
}
function Zp({ height: e, width: t }) {
	return e <= 0 ? null : /* @__PURE__ */ W("tr", {
		class: "room",
		children: /* @__PURE__ */ W("td", {
			colSpan: t,
			style: { height: `${e}px` }
		})
	});
}
// src/components/table/Head.tsx
function Qp({ columns: e, sort: t, onSort: n }) {
	return /* @__PURE__ */ W("thead", { children: /* @__PURE__ */ W("tr", { children: e.map((e) => {
		let r = t?.key === e.key ? t : null, i = r && /* @__PURE__ */ W(G, {
			name: r.descending ? "down" : "up",
			size: 12
		});
		return /* @__PURE__ */ W("th", {
			scope: "col",
			class: Mf(e) ? "number" : "",
			"aria-sort": r ? r.descending ? "descending" : "ascending" : "none",
			children: /* @__PURE__ */ W("button", {
				type: "button",
				onClick: () => n(e),
				title: e.help || void 0,
				children: [
					Mf(e) && i,
					e.title,
					!Mf(e) && i
				]
			})
		}, e.key);
	}) }) });
}
// src/components/table/copying.ts
var $p = {
	time_ns: "ns",
	moment_ns: "ns",
	bytes: "bytes",
	bytes_per_s: "bytes/s",
	percent: "%"
};
function em(e, t) {
	let n = e.map(({ title: e, kind: t }) => {
		let n = $p[t];
		return tm(n ? `${e} (${n})` : e);
	}), r = t.map((t) => e.map((e) => tm(Af(e, t))).join("	"));
	return `${[n.join("	"), ...r].join("\n")}\n`;
}
function tm(e) {
	return e === null ? "" : String(e).replace(/[\t\r\n]+/g, " ");
}
async function nm(e) {
	try {
		await navigator.clipboard.writeText(e);
	} catch {
		let t = document.createElement("textarea");
		t.value = e, document.body.append(t), t.select(), document.execCommand("copy"), t.remove();
	}
}
function rm(e, t, n) {
	let { rows: r, total_rows: i } = e, a = (e) => J("count", e), o = [];
	return t < r ? (o.push(`${a(t)} of ${a(r)} rows match`), r < i && o.push(`${a(i - r)} more were left out`)) : r < i ? o.push(`${a(r)} of ${a(i)} rows, the rest was left out`) : o.push(`${a(r)} ${r === 1 ? "row" : "rows"}`), n < t && o.push(`the first ${a(n)} are shown`), o.join("; ");
}
// src/components/table/Toolbar.tsx
function im(e) {
	let { block: t, arranged: n, state: r, onState: i, shown: a } = e;
	return /* @__PURE__ */ W("div", {
		class: "toolbar",
		children: [
			/* @__PURE__ */ W("label", {
				class: "search",
				children: [
					/* @__PURE__ */ W(G, {
						name: "search",
						size: 14
					}),
					/* @__PURE__ */ W("span", {
						class: "visually-hidden",
						children: ["Search in ", t.title || "the table"]
					}),
					/* @__PURE__ */ W("input", {
						type: "search",
						class: "input",
						placeholder: "Search",
						title: "Words that must be found, and conditions such as calls>100 or >10us (of the column sorted by)",
						value: r.search ?? "",
						onInput: (e) => i({
							...r,
							search: e.currentTarget.value || void 0
						})
					})
				]
			}),
			/* @__PURE__ */ W("span", {
				class: "rows",
				role: "status",
				children: rm(t, n.rows.length, a)
			}),
			/* @__PURE__ */ W("span", { class: "room" }),
			t.columns.length > 1 && /* @__PURE__ */ W(om, { ...e }),
			/* @__PURE__ */ W(am, { arranged: n })
		]
	});
}
function am({ arranged: e }) {
	let [t, n] = B(!1);
	return V(() => {
		if (!t) return;
		let e = setTimeout(() => n(!1), 1500);
		return () => clearTimeout(e);
	}, [t]), /* @__PURE__ */ W("button", {
		type: "button",
		class: "button",
		onClick: async () => {
			await nm(em(e.columns, e.rows)), n(!0);
		},
		title: "Copy the rows for a spreadsheet",
		children: [/* @__PURE__ */ W(G, {
			name: t ? "good" : "copy",
			size: 14
		}), /* @__PURE__ */ W("span", {
			"aria-live": "polite",
			children: t ? "Copied" : "Copy"
		})]
	});
}
function om(e) {
	let { block: t, arranged: n, state: r, onState: i, wholeNames: a, onWholeNames: o } = e, s = H(null);
	sm(s);
	let c = new Set(n.columns.map(({ key: e }) => e)), l = (e) => {
		let n = t.columns.map((e) => e.key).filter((t) => t === e ? !c.has(t) : c.has(t));
		n.length && i({
			...r,
			columns: n
		});
	}, u = t.columns.length - c.size;
	return /* @__PURE__ */ W("details", {
		class: "menu",
		ref: s,
		children: [/* @__PURE__ */ W("summary", {
			class: "button",
			title: "Columns to show, and what they mean",
			children: [
				/* @__PURE__ */ W(G, {
					name: "columns",
					size: 14
				}),
				"Columns",
				u > 0 && /* @__PURE__ */ W("span", {
					class: "quiet",
					children: [" +", u]
				})
			]
		}), /* @__PURE__ */ W("fieldset", { children: [
			/* @__PURE__ */ W("legend", {
				class: "visually-hidden",
				children: "Columns to show, and what they mean"
			}),
			t.columns.map(({ key: e, title: t, help: n }) => /* @__PURE__ */ W("label", { children: [/* @__PURE__ */ W("input", {
				type: "checkbox",
				checked: c.has(e),
				onChange: () => l(e)
			}), /* @__PURE__ */ W("span", { children: [t, n && /* @__PURE__ */ W("small", { children: n })] })] }, e)),
			/* @__PURE__ */ W("label", {
				class: "names",
				children: [/* @__PURE__ */ W("input", {
					type: "checkbox",
					checked: a,
					onChange: () => o(!a)
				}), "Show long names whole"]
			}),
			r.columns && /* @__PURE__ */ W("button", {
				type: "button",
				class: "button",
				onClick: () => i({
					...r,
					columns: void 0
				}),
				children: "As before"
			})
		] })]
	});
}
function sm(e) {
	V(() => {
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
function cm() {
	let [e, t] = B(!1);
	return V(() => {
		let e = () => lm(() => t(!0)), n = () => t(!1);
		return addEventListener("beforeprint", e), addEventListener("afterprint", n), () => {
			removeEventListener("beforeprint", e), removeEventListener("afterprint", n);
		};
	}, []), e;
}
function lm(t) {
	let { debounceRendering: n } = e;
	e.debounceRendering = (e) => e(), t(), n ? e.debounceRendering = n : delete e.debounceRendering;
}
// src/components/Table.tsx
var um = .875;
function dm({ block: e, state: t, onState: n }) {
	let [r, i] = tl("tables", e.id), a = n ? t ?? {} : r, o = n ?? i, s = H(null), c = cm(), [l, u] = B(!1), d = ke(() => Uf(e), [e]), f = ke(() => d(a), [d, a]), p = ke(() => Zf(f.columns, e.rows, e.rows > 30), [f.columns, e.rows]), m = (t) => {
		o({
			...a,
			sort: Jf(e, t, f.sort)
		}), s.current?.scrollTo({ top: 0 });
	}, h = f.rows.length > 30, g = f.query.words.length + f.query.conditions.length > 0, _ = e.rows > 5 || g || e.rows < e.total_rows;
	return /* @__PURE__ */ W("figure", {
		class: "table-block",
		style: mm(p),
		children: [
			/* @__PURE__ */ W(zn, { title: e.title }),
			e.rows > 0 && /* @__PURE__ */ W(b, { children: [_ && /* @__PURE__ */ W(im, {
				block: e,
				arranged: f,
				state: a,
				onState: o,
				shown: c ? Math.min(f.rows.length, 50) : f.rows.length,
				wholeNames: l,
				onWholeNames: u
			}), /* @__PURE__ */ W("section", {
				class: h ? "scrolled long" : "scrolled",
				ref: s,
				tabIndex: h ? 0 : void 0,
				"aria-label": e.title || "Table",
				children: [/* @__PURE__ */ W("table", {
					"aria-rowcount": f.rows.length + 1,
					children: [
						/* @__PURE__ */ W("colgroup", { children: p.map((e, t) => /* @__PURE__ */ W("col", { style: pm(e, p) }, f.columns[t]?.key)) }),
						/* @__PURE__ */ W(Qp, {
							columns: f.columns,
							sort: f.sort,
							onSort: m
						}),
						/* @__PURE__ */ W(Xp, {
							block: e,
							arranged: f,
							measures: p,
							scrolled: s,
							printing: c,
							wholeNames: l,
							tabbed: !_
						}, h ? "long" : "short")
					]
				}), f.rows.length === 0 && /* @__PURE__ */ W("p", {
					class: "empty",
					children: "No row matches the search."
				})]
			})] }),
			!_ && e.rows > 0 && /* @__PURE__ */ W(nl, {
				of: "columns",
				meanings: f.columns.map(({ title: e, help: t }) => ({
					term: e,
					help: t
				}))
			}),
			e.note && /* @__PURE__ */ W("p", {
				class: "table-note",
				children: e.note
			})
		]
	});
}
var fm = 40;
function pm(e, t) {
	let { width: n, grows: r } = e, i = `${n.toFixed(1)}ch + ${um}rem`, a = `${r.toFixed(4)} * max(0px, 100cqi - 2px - var(--least))`, o = (e) => e.width + fm * e.grows + 1, s = o(e) / t.reduce((e, t) => e + o(t), 0);
	return {
		"--column": r ? `calc(${i} + ${a})` : `calc(${i})`,
		"--paper": `${(100 * s).toFixed(1)}%`
	};
}
function mm(e) {
	let t = `calc(${e.reduce((e, { width: t }) => e + t, 0).toFixed(1)}ch + ${e.length * um}rem)`;
	return {
		"--least": t,
		"--width": e.some((e) => e.grows > 0) ? "100%" : t
	};
}
// src/components/Icicle.tsx
var hm = "Arrow keys go from bar to bar, Enter zooms, Escape goes back.";
function gm({ block: e }) {
	let [t, n] = tl("icicles", e.id), r = ke(() => Kc(e), [e]), i = H(null), [a, o] = B(-1), s = t.node !== void 0 && t.node < e.parent.length ? t.node : -1, c = t.search ?? "";
	bm(i, () => {
		let t = {
			zoomed: s,
			current: a,
			search: c.toLowerCase()
		};
		i.current && Hc(i.current, e, r, t);
	});
	let l = (e) => n({
		...t,
		node: e < 0 ? void 0 : e
	}), u = (e) => {
		let [t, n] = Bc(r, s), a = e.offsetX / (i.current?.clientWidth || 1);
		return qc(r, t + a * (n - t), Math.floor(e.offsetY / 22));
	}, d = (t) => {
		if (t.key.startsWith("Arrow")) o(a < 0 ? Math.max(s, 0) : Yc(e, r, a, t.key));
		else if (t.key === "Enter" && a >= 0) l(a);
		else if (t.key === "Escape") l(s >= 0 ? e.parent[s] ?? -1 : -1);
		else return;
		t.preventDefault();
	}, f = a >= 0 ? a : s;
	return /* @__PURE__ */ W("figure", {
		class: "icicle",
		children: [
			/* @__PURE__ */ W(zn, { title: e.title }),
			/* @__PURE__ */ W("div", {
				class: "toolbar",
				children: [
					/* @__PURE__ */ W(vm, {
						block: e,
						zoomed: s,
						onZoom: l
					}),
					/* @__PURE__ */ W("span", { class: "room" }),
					/* @__PURE__ */ W("label", {
						class: "search",
						children: [
							/* @__PURE__ */ W(G, {
								name: "search",
								size: 14
							}),
							/* @__PURE__ */ W("span", {
								class: "visually-hidden",
								children: ["Search in ", e.title || "the tree"]
							}),
							/* @__PURE__ */ W("input", {
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
			/* @__PURE__ */ W("canvas", {
				ref: i,
				tabIndex: 0,
				role: "application",
				"aria-label": `${e.title || "Tree"}. ${hm} The table below has the same figures.`,
				style: { height: `${r.depths * 22}px` },
				onMouseMove: (e) => o(u(e)),
				onMouseLeave: () => o(-1),
				onClick: (t) => {
					let n = u(t);
					n >= 0 && l(n === s ? e.parent[n] ?? -1 : n);
				},
				onKeyDown: d
			}),
			/* @__PURE__ */ W("p", {
				class: "told",
				"aria-live": "polite",
				children: f >= 0 ? /* @__PURE__ */ W(_m, {
					block: e,
					node: f
				}) : `The wider a bar, the longer it takes. Click one to zoom in. ${hm}`
			}),
			/* @__PURE__ */ W(ym, { block: e })
		]
	});
}
function _m({ block: e, node: t }) {
	return /* @__PURE__ */ W(b, { children: [/* @__PURE__ */ W("b", { children: Xc(e, t) }), Zc(e, t).map(([e, t]) => /* @__PURE__ */ W("span", { children: [
		e,
		" ",
		t
	] }, e + t))] });
}
function vm(e) {
	let { block: t, zoomed: n, onZoom: r } = e;
	return /* @__PURE__ */ W("nav", {
		class: "breadcrumb",
		"aria-label": "Place in the tree",
		children: [/* @__PURE__ */ W("button", {
			type: "button",
			disabled: n < 0,
			onClick: () => r(-1),
			children: "all"
		}), Jc(t.parent, n).map((e) => /* @__PURE__ */ W("button", {
			type: "button",
			disabled: e === n,
			onClick: () => r(e),
			children: Xc(t, e)
		}, e))]
	});
}
function ym({ block: e }) {
	let [t, n] = B(!1), r = ke(() => t ? $c(e) : null, [t, e]);
	return /* @__PURE__ */ W("details", {
		class: "as-table",
		onToggle: (e) => n(e.currentTarget.open),
		children: [/* @__PURE__ */ W("summary", { children: [/* @__PURE__ */ W(G, {
			name: "down",
			size: 12
		}), "The tree as a table"] }), r && /* @__PURE__ */ W(dm, { block: r })]
	});
}
function bm(e, t) {
	let n = H(t);
	n.current = t, V(t), V(() => {
		let t = () => n.current(), r = new ResizeObserver(t);
		e.current && r.observe(e.current);
		let i = fe(t);
		return () => {
			r.disconnect(), i();
		};
	}, [e]);
}
// src/components/colours.ts
function xm(e, t) {
	return `var(--part-${e.replace(/[^\w-]/g, "") || "none"}, var(--part-${t % 8 + 1}))`;
}
// src/components/Parts.tsx
function Sm({ block: e }) {
	let t = (t) => e.total > 0 ? t / e.total : 0;
	return /* @__PURE__ */ W("figure", {
		class: "parts",
		children: [
			/* @__PURE__ */ W(zn, { title: e.title }),
			/* @__PURE__ */ W("div", {
				class: "whole",
				"aria-hidden": "true",
				children: e.parts.map((n, r) => n.value > 0 && /* @__PURE__ */ W("div", {
					title: `${n.name}: ${J(e.kind, n.value)}, ${J("share", t(n.value))}`,
					style: {
						flexGrow: t(n.value),
						background: xm(n.id, r)
					},
					children: t(n.value) >= .08 && /* @__PURE__ */ W("span", { children: J("share", t(n.value)) })
				}, n.id))
			}),
			/* @__PURE__ */ W("table", { children: [/* @__PURE__ */ W("tbody", { children: e.parts.map((n, r) => /* @__PURE__ */ W("tr", { children: [
				/* @__PURE__ */ W("th", {
					scope: "row",
					children: [/* @__PURE__ */ W("span", {
						class: "swatch",
						style: { background: xm(n.id, r) }
					}), n.name]
				}),
				/* @__PURE__ */ W("td", {
					class: "number",
					children: J(e.kind, n.value)
				}),
				/* @__PURE__ */ W("td", {
					class: "number",
					children: J("share", t(n.value))
				}),
				/* @__PURE__ */ W("td", {
					class: "help",
					children: n.help
				})
			] }, n.id)) }), /* @__PURE__ */ W("tfoot", { children: /* @__PURE__ */ W("tr", { children: [
				/* @__PURE__ */ W("th", {
					scope: "row",
					children: [/* @__PURE__ */ W("span", { class: "swatch" }), "all"]
				}),
				/* @__PURE__ */ W("td", {
					class: "number",
					children: J(e.kind, e.total)
				}),
				/* @__PURE__ */ W("td", {}),
				/* @__PURE__ */ W("td", {})
			] }) })] }),
			/* @__PURE__ */ W(nl, {
				of: "parts",
				meanings: e.parts.map(({ name: e, help: t }) => ({
					term: e,
					help: t
				}))
			})
		]
	});
}
// src/components/Picture.tsx
var Cm = 700;
function wm({ block: e }) {
	let { width: t, height: n } = Tm(e.svg);
	return /* @__PURE__ */ W("figure", {
		class: "picture",
		children: [/* @__PURE__ */ W("div", {
			class: t > Cm ? "paper wide" : "paper",
			children: /* @__PURE__ */ W("img", {
				src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(e.svg)}`,
				alt: [e.title, e.caption].filter(Boolean).join(". "),
				...t && n ? {
					width: t,
					height: n
				} : {}
			})
		}), (e.title || e.caption) && /* @__PURE__ */ W("figcaption", { children: [
			e.title && /* @__PURE__ */ W("strong", { children: e.title }),
			" ",
			/* @__PURE__ */ W(hn, { text: e.caption })
		] })]
	});
}
function Tm(e) {
	let [, , t = 0, n = 0] = (/<svg[^>]*\sviewBox\s*=\s*["']\s*([^"']+)["']/.exec(e)?.[1] ?? "").trim().split(/[\s,]+/).map(Number);
	return {
		width: Math.round(t) || 0,
		height: Math.round(n) || 0
	};
}
// src/components/Stacks.tsx
function Em({ block: e }) {
	let t = e.labels.map((t, n) => Dm(e.parts.map(({ values: e }) => e[n] ?? 0))), n = Math.max(...t, Number.MIN_VALUE);
	return /* @__PURE__ */ W("figure", {
		class: "stacks",
		children: [
			/* @__PURE__ */ W(zn, { title: e.title }),
			/* @__PURE__ */ W("ul", {
				class: "legend",
				children: e.parts.map((e, t) => /* @__PURE__ */ W("li", { children: [/* @__PURE__ */ W("span", {
					class: "swatch",
					style: { background: xm(e.id, t) }
				}), e.name] }, e.id))
			}),
			/* @__PURE__ */ W("div", {
				class: "bars",
				children: /* @__PURE__ */ W("table", { children: /* @__PURE__ */ W("tbody", { children: e.labels.map((r, i) => /* @__PURE__ */ W("tr", { children: [
					/* @__PURE__ */ W("th", {
						scope: "row",
						children: r
					}),
					/* @__PURE__ */ W("td", { children: /* @__PURE__ */ W("div", {
						class: "bar",
						style: { width: `${100 * (t[i] ?? 0) / n}%` },
						children: e.parts.map((t, n) => /* @__PURE__ */ W("div", {
							style: {
								flexGrow: t.values[i] ?? 0,
								background: xm(t.id, n)
							},
							title: `${r}, ${t.name}: ${J(e.kind, t.values[i])}`
						}, t.id))
					}) }),
					/* @__PURE__ */ W("td", {
						class: "number",
						children: J(e.kind, t[i])
					})
				] }, r)) }) })
			})
		]
	});
}
function Dm(e) {
	return e.reduce((e, t) => e + t, 0);
}
// src/components/Text.tsx
function Om({ block: e }) {
	return e.tone === "plain" ? /* @__PURE__ */ W("p", {
		class: "text",
		children: /* @__PURE__ */ W(hn, { text: e.text })
	}) : /* @__PURE__ */ W("p", {
		class: `note tone-${e.tone}`,
		children: [/* @__PURE__ */ W(G, { name: ut(e.tone) }), /* @__PURE__ */ W("span", { children: /* @__PURE__ */ W(hn, { text: e.text }) })]
	});
}
// src/components/Tiles.tsx
function km({ block: e }) {
	return /* @__PURE__ */ W("div", { children: [/* @__PURE__ */ W("dl", {
		class: "tiles",
		children: e.tiles.map((e) => /* @__PURE__ */ W(Am, { tile: e }, e.label))
	}), /* @__PURE__ */ W(nl, {
		of: "figures",
		meanings: e.tiles.map(({ label: e, help: t }) => ({
			term: e,
			help: t
		}))
	})] });
}
function Am({ tile: e }) {
	let { digits: t, unit: n } = Dn(e.kind, e.value);
	return /* @__PURE__ */ W("div", {
		class: `tile tone-${e.tone}`,
		title: e.help || void 0,
		children: [
			/* @__PURE__ */ W("dt", { children: [e.tone !== "plain" && /* @__PURE__ */ W(G, {
				name: ut(e.tone),
				size: 13
			}), e.label] }),
			/* @__PURE__ */ W("dd", { children: [/* @__PURE__ */ W("span", {
				class: "figure",
				children: t
			}), n && /* @__PURE__ */ W("span", {
				class: "unit",
				children: [" ", n]
			})] }),
			e.share !== null && /* @__PURE__ */ W("div", {
				class: "meter",
				"aria-hidden": "true",
				children: /* @__PURE__ */ W("div", { style: { width: `${100 * Math.min(Math.max(e.share, 0), 1)}%` } })
			})
		]
	});
}
// src/components/Verdict.tsx
var jm = {
	regression: ["slower", "bad"],
	improvement: ["faster", "good"],
	no_change: ["same", "notice"],
	incomparable: ["unknown", "warning"]
};
function Mm({ block: e }) {
	let [t, n] = jm[e.verdict] ?? jm.incomparable;
	return /* @__PURE__ */ W("div", {
		class: `verdict tone-${n}`,
		children: [
			/* @__PURE__ */ W("div", {
				class: "word",
				children: [
					/* @__PURE__ */ W(G, {
						name: t,
						size: 30
					}),
					/* @__PURE__ */ W("strong", { children: e.word }),
					e.change !== null && /* @__PURE__ */ W("span", {
						class: "change",
						children: On("share", e.change)
					})
				]
			}),
			/* @__PURE__ */ W("p", {
				class: "sentence",
				children: /* @__PURE__ */ W(hn, { text: e.sentence })
			}),
			/* @__PURE__ */ W("div", {
				class: "measured",
				children: [/* @__PURE__ */ W("dl", { children: [
					/* @__PURE__ */ W("dt", { children: e.base.label }),
					/* @__PURE__ */ W("dd", { children: J(e.kind, e.base.value) }),
					/* @__PURE__ */ W("dt", { children: e.new.label }),
					/* @__PURE__ */ W("dd", { children: J(e.kind, e.new.value) })
				] }), /* @__PURE__ */ W(Nm, { block: e })]
			}),
			e.notes.length > 0 && /* @__PURE__ */ W("ul", {
				class: "notes",
				children: e.notes.map((e) => /* @__PURE__ */ W("li", { children: /* @__PURE__ */ W(hn, { text: e }) }, e))
			})
		]
	});
}
function Nm({ block: e }) {
	let { change: t, low: n, high: r } = e;
	if (t === null || n === null || r === null) return null;
	let i = Bn([
		t,
		n,
		r
	]), [a, o] = Wn(n, r).map((e) => On("share", e)), s = `${On("share", t)}, between ${a} and ${o}`, c = Kn([
		{
			at: i(0),
			text: "0"
		},
		{
			at: i(n),
			text: a
		},
		{
			at: i(r),
			text: o
		}
	]);
	return /* @__PURE__ */ W("div", {
		class: "interval",
		role: "img",
		"aria-label": s,
		title: s,
		children: [/* @__PURE__ */ W("div", {
			class: "axis",
			children: [
				/* @__PURE__ */ W("div", {
					class: "zero",
					style: { left: `${i(0)}%` }
				}),
				/* @__PURE__ */ W("div", {
					class: "range",
					style: Un(i, n, r)
				}),
				/* @__PURE__ */ W("div", {
					class: "dot",
					style: { left: `${i(t)}%` }
				})
			]
		}), /* @__PURE__ */ W("div", {
			class: "ends",
			"aria-hidden": "true",
			children: c.map(({ at: e, text: t }) => /* @__PURE__ */ W("span", {
				style: { left: `${e}%` },
				children: t
			}, t))
		})]
	});
}
// src/components/BlockView.tsx
function Pm({ block: e }) {
	switch (e.type) {
		case "text": return /* @__PURE__ */ W(Om, { block: e });
		case "facts": return /* @__PURE__ */ W(Nc, { block: e });
		case "tiles": return /* @__PURE__ */ W(km, { block: e });
		case "parts": return /* @__PURE__ */ W(Sm, { block: e });
		case "stacks": return /* @__PURE__ */ W(Em, { block: e });
		case "findings": return /* @__PURE__ */ W(Fc, { block: e });
		case "verdict": return /* @__PURE__ */ W(Mm, { block: e });
		case "attribution": return /* @__PURE__ */ W(qn, { block: e });
		case "causes": return /* @__PURE__ */ W(ur, { block: e });
		case "table": return /* @__PURE__ */ W(dm, { block: e });
		case "curves": return /* @__PURE__ */ W(Ac, { block: e });
		case "picture": return /* @__PURE__ */ W(wm, { block: e });
		case "icicle": return /* @__PURE__ */ W(gm, { block: e });
		case "health": return /* @__PURE__ */ W(Rc, { block: e });
		default: return null;
	}
}
// src/components/SectionView.tsx
function Fm({ section: e }) {
	let { id: t, title: n, lead: r, blocks: i } = e, a = i.findIndex((e) => e.type === "causes"), o = a > 0 && i[0]?.type === "verdict";
	return /* @__PURE__ */ W("section", {
		class: `section ${o ? "split" : ""}`,
		id: t,
		"aria-labelledby": `${t}-title`,
		children: [
			/* @__PURE__ */ W("h2", {
				id: `${t}-title`,
				children: n
			}),
			r && /* @__PURE__ */ W("p", {
				class: "lead",
				children: /* @__PURE__ */ W(hn, { text: r })
			}),
			/* @__PURE__ */ W("div", {
				class: "columns",
				children: [/* @__PURE__ */ W(Im, {
					title: n,
					blocks: o ? i.slice(0, a) : i
				}), o && /* @__PURE__ */ W(Im, {
					title: n,
					blocks: i.slice(a)
				})]
			})
		]
	});
}
function Im({ title: e, blocks: t }) {
	return /* @__PURE__ */ W("div", {
		class: "column",
		children: Lm(t).map((t, n, r) => /* @__PURE__ */ W(Rn.Provider, {
			value: [e, Rm(r[n - 1]?.at(-1))],
			children: t.length > 1 ? /* @__PURE__ */ W("div", {
				class: "pictures",
				children: t.map((e, t) => /* @__PURE__ */ W(Pm, { block: e }, t))
			}) : t[0] && /* @__PURE__ */ W(Pm, { block: t[0] })
		}, n))
	});
}
function Lm(e) {
	let t = [];
	for (let n of e) {
		let e = t.at(-1);
		n.type === "picture" && e?.[0]?.type === "picture" ? e.push(n) : t.push([n]);
	}
	return t;
}
function Rm(e) {
	return e && "title" in e ? e.title : "";
}
// src/components/DocumentView.tsx
function zm({ document: e, links: t, state: n, onState: r, nav: i = !0 }) {
	let a = ke(() => r ? {
		state: n ?? {},
		onState: r
	} : null, [n, r]), o = i && e.sections.length > 1;
	return /* @__PURE__ */ W(bn.Provider, {
		value: t ?? yn,
		children: /* @__PURE__ */ W(el.Provider, {
			value: a,
			children: /* @__PURE__ */ W("article", {
				class: `document ${o ? "with-nav" : ""}`,
				children: [
					/* @__PURE__ */ W(vn, { document: e }),
					o && /* @__PURE__ */ W(xn, { sections: e.sections }),
					/* @__PURE__ */ W("div", {
						class: "sections",
						children: e.sections.map((e) => /* @__PURE__ */ W(Fm, { section: e }, e.id))
					})
				]
			})
		})
	});
}
// src/app/routing/documentState.ts
var Bm = "*", Vm = /^(sort|find|cols|node)\.(.+)$/;
function Hm(e) {
	let t = {}, n = {};
	for (let [r, i] of Object.entries(e)) {
		let [, e, a] = Vm.exec(r) ?? [];
		a && (e === "sort" && (t[a] = {
			...t[a],
			sort: Km(i)
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
function Um(e, t) {
	let n = {};
	for (let [r, i] of Gm(e.tables, t.tables)) n[`sort.${r}`] = qm(i.sort), n[`cols.${r}`] = i.columns?.join(",") ?? "", n[`find.${r}`] = i.search ?? "";
	for (let [r, i] of Gm(e.icicles, t.icicles)) n[`node.${r}`] = i.node === void 0 ? "" : String(i.node), n[`find.${r}`] = i.search ?? "";
	return n;
}
function Wm(e, t) {
	return Object.entries(t).every(([t, n]) => t.startsWith("find.") || n === (e[t] ?? ""));
}
function Gm(e = {}, t = {}) {
	return Object.entries(t).filter(([t, n]) => n !== e[t]);
}
function Km(e) {
	return e === Bm ? null : {
		key: e.replace(/^-/, ""),
		descending: e.startsWith("-")
	};
}
function qm(e) {
	return e === void 0 ? "" : e === null ? Bm : `${e.descending ? "-" : ""}${e.key}`;
}
// src/app/routing/useDocumentState.ts
function Jm() {
	let { route: e } = U();
	return ke(() => {
		let t = Hm(e.query);
		return [t, (n) => {
			let r = Um(t, n), i = Wm(e.query, r) ? "replace" : "push";
			jt({
				...e,
				query: St(e.query, r)
			}, i);
		}];
	}, [bt(e)]);
}
// src/app/layout/LoadedDocument.tsx
function Ym({ loaded: e, what: t, links: n }) {
	let [r, i] = Jm();
	return /* @__PURE__ */ W(cn, {
		loaded: e,
		what: t,
		children: (e) => /* @__PURE__ */ W(zm, {
			document: e,
			links: n,
			state: r,
			onState: i,
			nav: !1
		})
	});
}
// src/app/links.ts
var Xm = {
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
}, Zm = 5e5;
function Qm(e, t, n) {
	let r = (t, r) => xt(e, t, n, r), i = (i, a, o, s = a) => t === i ? bt({
		at: "run",
		run: e,
		page: t,
		query: St(n, {
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
				case "operator": return i("operators", a, ih(o, "input_dims"));
				case "kernel": return i("kernels", rh(a, o), "", a);
				case "module": return r("modules", { "find.modules": a });
				case "worker": return xt(e, "overview", {
					...n,
					worker: a
				});
				case "moment": return r("trace", eh(Number(a), Number(a) + ah(o)));
				default: return null;
			}
		},
		hrefOfLink: (e) => th(e, r)
	};
}
function $m(e) {
	let t = (t, n) => xt(e, t, {}, n);
	return {
		hrefOfCell: () => null,
		hrefOfLink: (e) => th(e, t)
	};
}
function eh(e, t, n) {
	let r = t - e, i = r > 0 ? r * .5 : Zm, a = (e) => String(Math.max(0, Math.round(e)));
	return {
		from: a(e - i),
		to: a(t + i),
		...n === void 0 ? {} : { select: String(n) },
		...n === void 0 && r > 0 ? { range: `${a(e)}-${a(t)}` } : {}
	};
}
function th(e, t) {
	return e.from_ns === null ? t(nh(e.section), e.search ? { [`find.${e.section}`]: e.search } : {}) : t("trace", eh(e.from_ns, e.to_ns ?? e.from_ns));
}
function nh(e) {
	return Xm[e] ?? "overview";
}
function rh(e, t) {
	return t.short_name === e && ih(t, "name") || e;
}
function ih(e, t) {
	let n = e[t];
	return typeof n == "string" ? n : "";
}
function ah(e) {
	let t = e.dur_ns ?? e.gap_ns ?? e.length_ns ?? e.total_ns;
	return typeof t == "number" ? t : 0;
}
// src/app/pages/NotFound.tsx
function oh({ path: e }) {
	return /* @__PURE__ */ W("div", {
		class: "message",
		children: [
			/* @__PURE__ */ W("h1", { children: ["There is no page ", e] }),
			/* @__PURE__ */ W("p", { children: "The address may be cut short or of another version of timesink." }),
			/* @__PURE__ */ W("p", { children: /* @__PURE__ */ W("a", {
				class: "button primary",
				href: "#/",
				children: "All runs"
			}) })
		]
	});
}
function sh({ name: e }) {
	let { listing: t } = U(), n = t && Ut(t.runs, e);
	return /* @__PURE__ */ W("div", {
		class: "message",
		children: [
			/* @__PURE__ */ W("h1", { children: ["There is no run ", e] }),
			/* @__PURE__ */ W("p", { children: [
				"It is not below ",
				t?.logdir ?? "the served folder",
				": it may have been moved, or be still to come. It is shown as soon as it is there."
			] }),
			/* @__PURE__ */ W("p", {
				class: "next",
				children: [/* @__PURE__ */ W("a", {
					class: "button primary",
					href: "#/",
					children: "All runs"
				}), n && /* @__PURE__ */ W("a", {
					class: "button",
					href: xt(n, "overview"),
					children: n
				})]
			})
		]
	});
}
// src/app/pages/Compare.tsx
function ch() {
	let { route: e, listing: t } = U(), { base: n = "", new: r = "" } = e.query;
	if (!t) return null;
	let { runs: i } = t, a = [n, r].find((e) => e && !i.some((t) => t.name === e));
	return a ? /* @__PURE__ */ W(sh, { name: a }) : !n || !r ? /* @__PURE__ */ W(uh, {
		chosen: n || r,
		runs: i,
		isBase: !!n
	}) : /* @__PURE__ */ W(lh, {
		base: n,
		second: r,
		runs: i
	}, `${n}\n${r}`);
}
function lh({ base: e, second: t, runs: n }) {
	let { route: r } = U(), { marker: i } = r.query, a = [e, t].map((e) => Lt(n.find((t) => t.name === e))).join(" "), [o, s] = B(a), c = fn({
		path: "compare",
		params: {
			base: e,
			new: t,
			marker: i
		},
		version: o
	}), l = ke(() => $m(t), [t]);
	return /* @__PURE__ */ W("div", {
		class: "comparison",
		children: [o !== a && /* @__PURE__ */ W(pn, { onShow: () => s(a) }), /* @__PURE__ */ W(Ym, {
			loaded: c,
			what: "the comparison",
			links: l
		})]
	});
}
function uh({ chosen: e, isBase: t, runs: n }) {
	let r = e ? Ht(n, e, t ? "new" : "base") : void 0, i = t ? {
		base: e,
		new: r ?? ""
	} : {
		base: r ?? "",
		new: e
	};
	return /* @__PURE__ */ W("div", {
		class: "message",
		children: [
			/* @__PURE__ */ W("h1", { children: "Compare two runs" }),
			e ? /* @__PURE__ */ W("p", { children: [
				e,
				" is chosen as the ",
				t ? "base" : "new run",
				". Choose the",
				" ",
				t ? "new run" : "base",
				" above: what changed from base to new is explained here."
			] }) : /* @__PURE__ */ W("p", { children: "Choose a base and a new run above: what changed between them is explained here." }),
			r && /* @__PURE__ */ W("p", { children: /* @__PURE__ */ W("a", {
				class: "button primary",
				href: bt({
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
			n.length === 1 && /* @__PURE__ */ W("p", { children: "There is one run only; record another and it appears here." })
		]
	});
}
// src/app/runs/ago.ts
var dh = [
	[86400, "d"],
	[3600, "h"],
	[60, "min"]
], fh = 604800;
function ph(e, t) {
	let n = t - e;
	if (n >= fh) return (/* @__PURE__ */ new Date(e * 1e3)).toISOString().slice(0, 10);
	for (let [e, t] of dh) if (n >= e) return `${Math.floor(n / e)} ${t} ago`;
	return "just now";
}
// src/app/pages/RunTable.tsx
function mh({ runs: e, order: t, query: n, onChange: r }) {
	let i = _h(1e4), a = (e, n, i = !0) => /* @__PURE__ */ W("th", {
		scope: "col",
		class: i ? "numeric" : "",
		"aria-sort": gh(e, t),
		children: /* @__PURE__ */ W("button", {
			type: "button",
			onClick: () => r({ sort: e === "changed_s" ? "" : e }),
			children: [n, e === t && /* @__PURE__ */ W(G, {
				name: e === "name" ? "up" : "down",
				size: 12
			})]
		})
	});
	return /* @__PURE__ */ W("table", {
		class: "runs",
		children: [/* @__PURE__ */ W("thead", { children: /* @__PURE__ */ W("tr", { children: [
			/* @__PURE__ */ W("th", {
				scope: "col",
				class: "mark-column",
				children: "Compare"
			}),
			a("name", "Run", !1),
			/* @__PURE__ */ W("th", {
				scope: "col",
				class: "holds-column",
				children: "Holds"
			}),
			/* @__PURE__ */ W("th", {
				scope: "col",
				class: "numeric",
				children: "Workers"
			}),
			/* @__PURE__ */ W("th", {
				scope: "col",
				class: "numeric",
				children: "Spans"
			}),
			a("bytes", "Size"),
			a("changed_s", "Changed")
		] }) }), /* @__PURE__ */ W("tbody", { children: e.map((e) => /* @__PURE__ */ W(hh, {
			run: e,
			now: i,
			query: n,
			onChange: r
		}, e.name)) })]
	});
}
function hh({ run: e, now: t, query: n, onChange: r }) {
	let i = e.name === n.base ? "base" : e.name === n.new ? "new" : "", a = Math.max(0, ...e.workers.map((e) => e.spans.length));
	return /* @__PURE__ */ W("tr", {
		class: i ? "marked" : "",
		children: [
			/* @__PURE__ */ W("td", {
				class: "mark-column",
				children: /* @__PURE__ */ W("label", { children: [/* @__PURE__ */ W("input", {
					type: "checkbox",
					checked: i !== "",
					"aria-label": `Compare ${e.name}`,
					onChange: () => r(Bt(n, e.name))
				}), i && /* @__PURE__ */ W("span", {
					class: "tag",
					children: i
				})] })
			}),
			/* @__PURE__ */ W("th", {
				scope: "row",
				children: [/* @__PURE__ */ W("a", {
					href: xt(e.name, e.timeline || !e.counters.length ? "overview" : "kernels"),
					children: e.name
				}), e.growing && /* @__PURE__ */ W("span", {
					class: "tag recording",
					children: "recording"
				})]
			}),
			/* @__PURE__ */ W("td", {
				class: "holds-column",
				children: [
					e.timeline && /* @__PURE__ */ W("span", {
						class: "tag",
						children: "timeline"
					}),
					e.behaviour && /* @__PURE__ */ W("span", {
						class: "tag",
						children: "cycles"
					}),
					e.counters.length > 0 && /* @__PURE__ */ W("span", {
						class: "tag",
						title: e.counters.join(", "),
						children: "kernel counters"
					})
				]
			}),
			/* @__PURE__ */ W("td", {
				class: "numeric",
				"data-label": e.workers.length === 1 ? "worker" : "workers",
				children: e.workers.length || "-"
			}),
			/* @__PURE__ */ W("td", {
				class: "numeric",
				"data-label": a === 1 ? "span" : "spans",
				children: a || "-"
			}),
			/* @__PURE__ */ W("td", {
				class: "numeric",
				children: J("bytes", e.bytes)
			}),
			/* @__PURE__ */ W("td", {
				class: "numeric",
				children: /* @__PURE__ */ W("time", {
					title: (/* @__PURE__ */ new Date(e.changed_s * 1e3)).toLocaleString("en"),
					children: ph(e.changed_s, t)
				})
			})
		]
	});
}
function gh(e, t) {
	return e === t ? e === "name" ? "ascending" : "descending" : "none";
}
function _h(e) {
	let [t, n] = B(() => Date.now() / 1e3);
	return V(() => {
		let t = setInterval(() => n(Date.now() / 1e3), e);
		return () => clearInterval(t);
	}, [e]), t;
}
// src/app/pages/Home.tsx
var vh = [
	"name",
	"bytes",
	"changed_s"
];
function yh() {
	let { listing: e, route: t } = U();
	return e ? e.runs.length ? /* @__PURE__ */ W(bh, {
		listing: e,
		query: t.query
	}) : /* @__PURE__ */ W(Sh, { listing: e }) : null;
}
function bh({ listing: e, query: t }) {
	let { q: n = "", base: r = "", new: i = "" } = t, a = vh.find((e) => e === t.sort) ?? "changed_s", o = zt(Rt(e.runs, n), a), s = (e, n = "push") => jt({
		at: "home",
		query: St(t, e)
	}, n);
	return /* @__PURE__ */ W("div", {
		class: "home",
		children: [
			/* @__PURE__ */ W("header", {
				class: "home-head",
				children: [
					/* @__PURE__ */ W("h1", { children: "Runs" }),
					/* @__PURE__ */ W("p", {
						class: "quiet",
						children: n ? `${o.length} of ${e.runs.length}` : e.runs.length
					}),
					/* @__PURE__ */ W("label", {
						class: "search",
						children: [
							/* @__PURE__ */ W("span", {
								class: "visually-hidden",
								children: "Filter runs"
							}),
							/* @__PURE__ */ W(G, { name: "search" }),
							/* @__PURE__ */ W("input", {
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
			r && /* @__PURE__ */ W(xh, {
				base: r,
				second: i,
				onClear: () => s({
					base: "",
					new: ""
				})
			}),
			o.length ? /* @__PURE__ */ W(mh, {
				runs: o,
				order: a,
				query: t,
				onChange: s
			}) : /* @__PURE__ */ W("p", {
				class: "message",
				children: [
					"No run has “",
					n,
					"” in its name.",
					" ",
					/* @__PURE__ */ W("button", {
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
function xh({ base: e, second: t, onClear: n }) {
	return /* @__PURE__ */ W("div", {
		class: "notice-bar pair-bar",
		role: "status",
		children: [t ? /* @__PURE__ */ W(b, { children: [
			/* @__PURE__ */ W("span", { children: [
				"Base ",
				/* @__PURE__ */ W("b", { children: e }),
				", new ",
				/* @__PURE__ */ W("b", { children: t })
			] }),
			/* @__PURE__ */ W("a", {
				class: "button primary",
				href: bt({
					at: "compare",
					query: {
						base: e,
						new: t
					}
				}),
				children: "Compare"
			}),
			/* @__PURE__ */ W("a", {
				class: "button",
				href: bt({
					at: "home",
					query: {
						base: t,
						new: e
					}
				}),
				"aria-label": "Swap base and new",
				children: "Swap"
			})
		] }) : /* @__PURE__ */ W("span", { children: [
			"Base ",
			/* @__PURE__ */ W("b", { children: e }),
			": mark the run to compare it with."
		] }), /* @__PURE__ */ W("button", {
			type: "button",
			class: "button",
			onClick: n,
			children: "Clear"
		})]
	});
}
function Sh({ listing: e }) {
	let t = e.logdir.replace(/\/$/, "");
	return /* @__PURE__ */ W("div", {
		class: "message",
		children: [
			/* @__PURE__ */ W("h1", { children: "No runs yet" }),
			/* @__PURE__ */ W("p", { children: [t, " holds no recording. They appear here by themselves; to make one:"] }),
			/* @__PURE__ */ W("pre", { children: /* @__PURE__ */ W("code", { children: [
				"timesink record -o ",
				Ch(`${t}/base`),
				" -- python train.py"
			] }) }),
			/* @__PURE__ */ W("p", {
				class: "quiet",
				children: "Traces of torch.profiler (*.pt.trace.json), Nsight Systems (*.sqlite) and rocprofv3 work as well: put them into a folder below it."
			})
		]
	});
}
function Ch(e) {
	return /^[\w@%+=:,./~-]+$/.test(e) ? e : `'${e.replaceAll("'", "'\\''")}'`;
}
// src/app/layout/Sections.tsx
function wh({ title: e, document: t, links: n, children: r }) {
	let [i, a] = Jm(), o = ke(() => ({
		state: i,
		onState: a
	}), [i, a]);
	return /* @__PURE__ */ W(bn.Provider, {
		value: n,
		children: /* @__PURE__ */ W(el.Provider, {
			value: o,
			children: /* @__PURE__ */ W("article", {
				class: "document",
				children: [/* @__PURE__ */ W("header", {
					class: "page-head",
					children: [
						/* @__PURE__ */ W("h1", {
							class: "visually-hidden",
							children: e
						}),
						/* @__PURE__ */ W("p", {
							class: "quiet",
							children: t.subject
						}),
						r
					]
				}), /* @__PURE__ */ W("div", {
					class: "sections",
					children: t.sections.map((e) => /* @__PURE__ */ W(Fm, { section: e }, e.id))
				})]
			})
		})
	});
}
// src/app/pages/ofRun.ts
function Th(e, t, n) {
	let { run: r, worker: i, span: a, version: o } = e, s = {
		run: r.name,
		worker: i,
		span: a,
		...n
	};
	return fn(n === null ? null : {
		path: t,
		params: s,
		version: o
	});
}
function Eh({ route: e }) {
	return ke(() => Qm(e.run, e.page, e.query), [bt(e)]);
}
// src/app/pages/DocumentPage.tsx
function Dh({ of: e, children: t }) {
	let { page: n, run: r } = e.route, i = Th(e, "document", { page: n }), a = Eh(e);
	return /* @__PURE__ */ W(cn, {
		loaded: i,
		what: "the analysis",
		children: (e) => /* @__PURE__ */ W(wh, {
			title: `${Nt(n)} of ${r}`,
			document: e,
			links: a,
			children: t
		})
	});
}
// src/app/layout/Switch.tsx
function Oh({ label: e, options: t, chosen: n, onChoose: r }) {
	let i = Me();
	return /* @__PURE__ */ W("fieldset", {
		class: "switch",
		children: [/* @__PURE__ */ W("legend", { children: e }), t.map(([e, t]) => /* @__PURE__ */ W("label", { children: [/* @__PURE__ */ W("input", {
			type: "radio",
			name: i,
			checked: n === e,
			onChange: () => r(e)
		}), /* @__PURE__ */ W("span", { children: t })] }, e))]
	});
}
// src/app/pages/Details.tsx
function kh({ of: e, kind: t, name: n, children: r }) {
	let { route: i } = e, a = {
		...i,
		query: St(i.query, {
			open: "",
			dims: ""
		})
	}, o = H(null);
	return V(() => {
		let e = document.activeElement;
		return o.current?.focus({ preventScroll: !0 }), () => {
			e instanceof HTMLElement && e.isConnected && e.focus({ preventScroll: !0 });
		};
	}, [n]), V(() => {
		let e = (e) => {
			e.key === "Escape" && !e.defaultPrevented && jt(a);
		};
		return document.addEventListener("keydown", e), () => document.removeEventListener("keydown", e);
	}), /* @__PURE__ */ W("aside", {
		class: "row-details",
		"aria-label": `${t} ${n}`,
		children: [/* @__PURE__ */ W("header", { children: [
			/* @__PURE__ */ W("p", {
				class: "details-kind",
				children: t
			}),
			/* @__PURE__ */ W("button", {
				type: "button",
				class: "icon-button",
				"aria-label": "Close details",
				title: "Close (Esc)",
				onClick: () => jt(a),
				children: /* @__PURE__ */ W(G, { name: "close" })
			}),
			/* @__PURE__ */ W("h2", {
				ref: o,
				tabIndex: -1,
				children: n
			})
		] }), r]
	});
}
function Ah({ of: e, name: t }) {
	let { value: n } = Th(e, "timeline/search", e.run.timeline ? { q: t } : null);
	if (!e.run.timeline) return null;
	let r = n && Mh(n, t), i = r ? {
		q: t,
		...eh(r.from_ns, r.from_ns + r.dur_ns, r.id)
	} : { q: t };
	return /* @__PURE__ */ W("a", {
		class: "button",
		href: xt(e.run.name, "trace", e.route.query, i),
		children: [/* @__PURE__ */ W(G, { name: "search" }), r ? jh(n, r) : "Find in the trace"]
	});
}
function jh(e, { dur_ns: t }) {
	return `${e.total > e.hits.length ? `Longest of the first ${e.hits.length}` : "Longest"} in the trace, ${J("time_ns", t)}`;
}
function Mh({ hits: e }, t) {
	let n = e.filter((e) => e.name === t), r = e.filter((e) => t.startsWith(e.name));
	return (n.length ? n : r).toSorted((e, t) => t.dur_ns - e.dur_ns)[0];
}
// src/app/pages/totals.ts
function Nh(e, t) {
	let n = /* @__PURE__ */ new Map();
	for (let r = 0; r < e.rows; r += 1) {
		let i = Object.fromEntries(e.columns.map((e) => [e.key, Ph(e, r)])), a = String(i[t] ?? ""), o = n.get(a) ?? {
			name: a,
			calls: 0,
			total_ns: 0,
			row: i
		};
		o.calls += Number(i.calls ?? 0), o.total_ns += Number(i.total_ns ?? 0), n.set(a, o);
	}
	return [...n.values()].sort((e, t) => t.total_ns - e.total_ns);
}
function Ph({ data: e }, t) {
	return "values" in e ? e.values[t] ?? null : e.texts[e.codes[t] ?? -1] ?? null;
}
// src/app/pages/TotalList.tsx
function Fh({ table: e, by: t, link: n, unnamed: r }) {
	let i = Nh(e, t), a = i.reduce((e, { total_ns: t }) => e + t, 0);
	return /* @__PURE__ */ W("ol", {
		class: "totals",
		children: i.map((e) => /* @__PURE__ */ W(Ih, {
			total: e,
			all: a,
			link: n,
			unnamed: r
		}, e.name))
	});
}
function Ih({ total: e, all: t, link: n, unnamed: r }) {
	let { hrefOfCell: i } = je(bn), { name: a, calls: o, total_ns: s, row: c } = e, l = a ? i(n, a, c) : null, u = t ? s / t : 0;
	return /* @__PURE__ */ W("li", { children: [/* @__PURE__ */ W("p", {
		class: "total-name",
		children: l ? /* @__PURE__ */ W("a", {
			href: l,
			children: a
		}) : a || r
	}), /* @__PURE__ */ W("p", {
		class: "total-figures",
		children: [
			/* @__PURE__ */ W("span", {
				class: "total-bar",
				"aria-hidden": "true",
				children: /* @__PURE__ */ W("span", {
					class: "total-part",
					style: { width: `${u * 100}%` }
				})
			}),
			/* @__PURE__ */ W("b", { children: J("time_ns", s) }),
			/* @__PURE__ */ W("span", { children: J("share", u) }),
			/* @__PURE__ */ W("span", { children: o === 1 ? "1 call" : `${J("count", o)} calls` })
		]
	})] });
}
// src/app/pages/KernelDetails.tsx
function Lh({ of: e, name: t }) {
	let n = Th(e, "table", {
		view: "kernel-launches",
		column: "name",
		equals: t
	});
	return /* @__PURE__ */ W(kh, {
		of: e,
		kind: "Kernel",
		name: t,
		children: [/* @__PURE__ */ W("p", {
			class: "details-links",
			children: /* @__PURE__ */ W(Ah, {
				of: e,
				name: t
			})
		}), /* @__PURE__ */ W(bn.Provider, {
			value: Eh(e),
			children: [/* @__PURE__ */ W("h3", { children: "Launched by" }), /* @__PURE__ */ W(cn, {
				loaded: n,
				what: "its launches",
				children: (e) => /* @__PURE__ */ W(Fh, {
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
var Rh = [["timeline", "Timeline"], ["utilisation", "Utilisation"]];
function zh({ of: e }) {
	let { run: t, route: n } = e, { open: r = "" } = n.query, i = t.counters.length > 0 && (!t.timeline || n.query.show === "utilisation"), a = t.timeline && t.counters.length > 0 && /* @__PURE__ */ W(Oh, {
		label: "Show",
		options: Rh,
		chosen: i ? "utilisation" : "timeline",
		onChoose: (e) => {
			let t = {
				show: e === "utilisation" ? e : "",
				open: ""
			};
			jt({
				...n,
				query: St(n.query, t)
			});
		}
	});
	return i ? /* @__PURE__ */ W(b, { children: [a && /* @__PURE__ */ W("div", {
		class: "page-head",
		children: a
	}), /* @__PURE__ */ W(Bh, { of: e })] }) : /* @__PURE__ */ W("div", {
		class: r ? "with-details" : "",
		children: [/* @__PURE__ */ W(Dh, {
			of: e,
			children: a
		}), r && /* @__PURE__ */ W(Lh, {
			of: e,
			name: r
		})]
	});
}
function Bh({ of: e }) {
	let { run: t, version: n } = e;
	return /* @__PURE__ */ W(Ym, {
		loaded: fn({
			path: "utilisation",
			params: { run: t.name },
			version: n
		}),
		what: "the counters",
		links: Eh(e)
	});
}
// src/app/pages/frames.ts
var Vh = /^(.*)\((\d+)\): (.*)$/;
function Hh(e) {
	return String(e ?? "").split(/[;\n]/).map((e) => e.trim()).filter(Boolean).map(Uh);
}
function Uh(e) {
	let [, t, n, r] = Vh.exec(e) ?? [];
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
var Wh = 6, Gh = /* @__PURE__ */ new Set(["count", "time_ns"]);
function Kh({ table: e }) {
	let t = e.columns.find(({ key: e }) => e === "call_stack"), n = t ? qh(e) : [];
	if (!t || n.every((e) => !Ph(t, e))) return /* @__PURE__ */ W("p", {
		class: "quiet",
		children: e.note || "None were recorded. With torch.profiler, with_stack=True records them."
	});
	let r = e.columns.filter(({ main: e, kind: t }) => e && Gh.has(t));
	return /* @__PURE__ */ W(b, { children: [/* @__PURE__ */ W("ol", {
		class: "call-stacks",
		children: n.map((e) => /* @__PURE__ */ W("li", { children: [/* @__PURE__ */ W("p", {
			class: "call-figures",
			children: r.map((t) => /* @__PURE__ */ W("span", {
				title: t.help,
				children: [
					t.title,
					" ",
					/* @__PURE__ */ W("b", { children: J(t.kind, Ph(t, e)) })
				]
			}, t.key))
		}), /* @__PURE__ */ W(Jh, { frames: Hh(Ph(t, e)) })] }, e))
	}), e.total_rows > e.rows && /* @__PURE__ */ W("p", {
		class: "quiet",
		children: [e.total_rows - e.rows, " more stacks take less time."]
	})] });
}
function qh(e) {
	let [t, n] = ["device_total_ns", "host_total_ns"].map((t) => e.columns.find(({ key: e }) => e === t)), r = (e, t) => Number(e ? Ph(e, t) : 0);
	return Array.from({ length: e.rows }, (e, t) => t).sort((e, i) => r(t, i) - r(t, e) || r(n, i) - r(n, e));
}
function Jh({ frames: e }) {
	let t = e.slice(Wh);
	return e.length ? /* @__PURE__ */ W(b, { children: [/* @__PURE__ */ W(Yh, { frames: e.slice(0, Wh) }), t.length > 0 && /* @__PURE__ */ W("details", { children: [/* @__PURE__ */ W("summary", { children: [t.length === 1 ? "one more call" : `${t.length} more calls`, " around it"] }), /* @__PURE__ */ W(Yh, { frames: t })] })] }) : /* @__PURE__ */ W("p", {
		class: "quiet",
		children: "No stack was recorded for these calls."
	});
}
function Yh({ frames: e }) {
	return /* @__PURE__ */ W("ol", {
		class: "frames",
		children: e.map(({ name: e, place: t, whole: n }, r) => /* @__PURE__ */ W("li", {
			title: n,
			children: [
				e,
				" ",
				/* @__PURE__ */ W("span", {
					class: "quiet",
					children: t
				})
			]
		}, `${r} ${n}`))
	});
}
// src/app/pages/OperatorDetails.tsx
function Xh({ of: e, name: t, dims: n }) {
	let r = Th(e, "table", {
		view: "kernel-launches",
		column: "operator",
		equals: t
	}), i = Th(e, "stacks", {
		operator: t,
		dims: n
	}), a = Eh(e), o = xt(e.run.name, "kernels", e.route.query, { "find.kernel-launches": t });
	return /* @__PURE__ */ W(kh, {
		of: e,
		kind: "Operator",
		name: t,
		children: [
			n && /* @__PURE__ */ W("p", {
				class: "quiet mono",
				children: n
			}),
			/* @__PURE__ */ W("p", {
				class: "details-links",
				children: [/* @__PURE__ */ W(Ah, {
					of: e,
					name: t
				}), /* @__PURE__ */ W("a", {
					class: "button",
					href: o,
					children: [/* @__PURE__ */ W(G, { name: "link" }), "On the kernels page"]
				})]
			}),
			/* @__PURE__ */ W(bn.Provider, {
				value: a,
				children: [
					/* @__PURE__ */ W("h3", { children: "Kernels it launches" }),
					/* @__PURE__ */ W(cn, {
						loaded: r,
						what: "its kernels",
						children: (e) => e.rows ? /* @__PURE__ */ W(Fh, {
							table: e,
							by: "short_name",
							link: "kernel",
							unnamed: "unnamed"
						}) : /* @__PURE__ */ W("p", {
							class: "quiet",
							children: "None itself: what it calls may launch some."
						})
					}),
					/* @__PURE__ */ W("h3", { children: "Call stacks" }),
					/* @__PURE__ */ W(cn, {
						loaded: i,
						what: "its call stacks",
						children: (e) => /* @__PURE__ */ W(Kh, { table: e })
					})
				]
			})
		]
	});
}
// src/app/pages/Operators.tsx
var Zh = [
	["name", "Name"],
	["shape", "Shapes"],
	["stack", "Call stack"]
];
function Qh({ of: e }) {
	let { route: t } = e, { open: n = "", dims: r = "" } = t.query, i = Zh.map(([e]) => e).find((e) => e === t.query.group) ?? "name", a = Th(e, "document", { page: "operators" }), o = i === "name" ? null : {
		view: "operators",
		group_by: i
	}, s = Th(e, "table", o), c = Eh(e), l = (e) => {
		let n = {
			group: e === "name" ? "" : e,
			open: "",
			dims: ""
		};
		jt({
			...t,
			query: St(t.query, n)
		});
	};
	return /* @__PURE__ */ W("div", {
		class: n ? "with-details" : "",
		children: [/* @__PURE__ */ W("div", { children: /* @__PURE__ */ W(cn, {
			loaded: a,
			what: "the operators",
			children: (e) => /* @__PURE__ */ W(wh, {
				title: `Operators of ${t.run}`,
				document: o ? eg(e, s.value) : e,
				links: c,
				children: [/* @__PURE__ */ W(Oh, {
					label: "Group by",
					options: Zh,
					chosen: i,
					onChoose: l
				}), o && /* @__PURE__ */ W($h, { loaded: s })]
			})
		}) }), n && /* @__PURE__ */ W(Xh, {
			of: e,
			name: n,
			dims: r
		})]
	});
}
function $h({ loaded: e }) {
	return e.error ? /* @__PURE__ */ W(un, {
		error: e.error,
		onRetry: e.retry
	}) : e.loading ? /* @__PURE__ */ W(ln, {
		progress: e.progress,
		what: "the operators"
	}) : null;
}
function eg(e, t) {
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
function tg({ of: e }) {
	return /* @__PURE__ */ W(Ym, {
		loaded: Th(e, "document", { page: "overview" }),
		what: "the analysis",
		links: Eh(e)
	});
}
var ng = 6, rg = 16, ig = 12;
function ag(e) {
	return `#${e}`;
}
function og(e) {
	return e.kind === "counter" || e.kind === "memory";
}
function sg(e, { closed: t, unfolded: n }) {
	let r = /* @__PURE__ */ new Map();
	for (let t of e) {
		let e = r.get(t.group);
		e ? e.push(t) : r.set(t.group, [t]);
	}
	let i = [], a = /* @__PURE__ */ new Map(), o = 0;
	for (let [e, s] of r) {
		let r = !t.has(e);
		if (i.push({
			type: "group",
			name: e,
			y: o,
			height: 26,
			open: r,
			tracks: s.length
		}), o += 26, r) for (let e of s) {
			let r = !t.has(ag(e.id)), s = cg(e, o, r, n.has(e.id));
			i.push(s), a.set(e.id, s), o += s.height;
		}
	}
	return {
		items: i,
		height: o,
		byTrack: a
	};
}
function cg(e, t, n, r) {
	let i = "track";
	if (og(e) || !n) return {
		type: i,
		track: e,
		y: t,
		height: (og(e) && n ? 44 : 18) + ng,
		open: n,
		rows: 1,
		unfolded: null
	};
	let a = e.kind === "host" && e.rows > rg, o = a && !r ? ig : Math.max(1, e.rows);
	return {
		type: i,
		track: e,
		y: t,
		height: (a ? o + 1 : o) * 18 + ng,
		open: n,
		rows: o,
		unfolded: a ? r : null
	};
}
function lg(e, t, n) {
	let r = [];
	for (let i = pg(e.items, t); i < e.items.length; i++) {
		let t = e.items[i];
		if (t.y >= n) break;
		r.push(t);
	}
	return r;
}
function ug(e, t) {
	let n = e.items[pg(e.items, t)];
	return n && t >= n.y ? n : null;
}
function dg(e, t) {
	let n = Math.floor((t - e.y) / 18);
	return n >= 0 && n < e.rows ? n : null;
}
function fg(e, t) {
	return e.y + Math.min(t, e.rows - 1) * 18;
}
function pg(e, t) {
	let n = 0, r = e.length;
	for (; n < r;) {
		let i = n + r >> 1, a = e[i];
		a.y + a.height <= t ? n = i + 1 : r = i;
	}
	return n;
}
// src/trace/Names.tsx
var mg = 400;
function hg({ layout: e, top: t, height: n, onToggle: r, onUnfold: i }) {
	return /* @__PURE__ */ W("div", {
		class: "trace-names",
		children: lg(e, t - mg, t + n + mg).map((e) => /* @__PURE__ */ W(b, { children: [/* @__PURE__ */ W(vg, {
			item: e,
			onToggle: () => r(_g(e))
		}), e.type === "track" && e.unfolded !== null && /* @__PURE__ */ W(gg, {
			item: e,
			onClick: () => i(e.track.id)
		})] }, _g(e)))
	});
}
function gg({ item: e, onClick: t }) {
	let n = {
		top: `${e.y + e.rows * 18}px`,
		height: "18px"
	}, { rows: r } = e.track;
	return /* @__PURE__ */ W("button", {
		type: "button",
		class: "trace-name handle",
		style: n,
		"aria-expanded": e.unfolded === !0,
		"aria-label": `${e.unfolded ? "Fewer" : "All"} rows of ${e.track.name}`,
		onClick: t,
		children: /* @__PURE__ */ W("span", {
			class: "text",
			children: e.unfolded ? "fewer rows" : `${r - e.rows} more rows`
		})
	});
}
function _g(e) {
	return e.type === "group" ? e.name : ag(e.track.id);
}
function vg({ item: e, onToggle: t }) {
	let n = {
		top: `${e.y}px`,
		height: `${e.height}px`
	}, r = e.type === "group", [i, a] = r ? [e.name, `${e.name}: ${e.tracks} tracks`] : [e.track.name, yg(e.track)];
	return !r && e.open && e.track.rows <= 1 ? /* @__PURE__ */ W("div", {
		class: "trace-name",
		style: n,
		title: a,
		children: /* @__PURE__ */ W("span", {
			class: "text",
			children: i
		})
	}) : /* @__PURE__ */ W("button", {
		type: "button",
		class: r ? "trace-name group" : "trace-name",
		style: n,
		"aria-expanded": e.open,
		title: a,
		onClick: t,
		children: [/* @__PURE__ */ W("span", {
			class: "turn",
			"aria-hidden": "true"
		}), /* @__PURE__ */ W("span", {
			class: "text",
			children: i
		})]
	});
}
function yg({ name: e, group: t, events: n, rows: r, unit: i, kind: a, lowest: o, highest: s }) {
	let c = `${e}, ${t}`;
	if (a === "counter" || a === "memory") {
		let [e, t] = [o, s].map((e) => bg(e, i));
		return `${c}: ${e} to ${t}`;
	}
	return `${c}: ${J("count", n)} slices${r > 1 ? ` in ${r} rows` : ""}`;
}
function bg(e, t) {
	if (t === "B" || t === "bytes") return J("bytes", e);
	let n = J("number", Number(e.toPrecision(4)));
	return t ? `${n} ${t}` : n;
}
// src/trace/rows.ts
function xg(e, t) {
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
function Sg(e) {
	return e.begin.length - 1;
}
function Cg(e, t, n) {
	let { start: r, dur: i } = e.slices, a = e.begin[t], o = e.begin[t + 1];
	for (; a < o;) {
		let e = a + o >> 1;
		r[e] + i[e] <= n ? a = e + 1 : o = e;
	}
	return a;
}
// src/trace/ticks.ts
var wg = 1e9, Tg = 60 * wg, Eg = 60 * Tg, Dg = 24 * Eg, Og = [...[
	1,
	2,
	5,
	10,
	30
].map((e) => e * Tg), ...[
	1,
	2,
	6,
	12
].map((e) => e * Eg)], kg = [
	[wg, "s"],
	[1e6, "ms"],
	[1e3, "us"],
	[1, "ns"]
];
function Ag(e, t, n, r = 110) {
	let i = jg((t - e) / n * r), a = [];
	for (let n = Math.ceil(e / i); n * i <= t; n++) n >= 0 && a.push({
		time: n * i,
		label: Mg(n * i, i)
	});
	return {
		step: i,
		marks: a
	};
}
function jg(e) {
	if (e <= 1) return 1;
	if (e > 12 * Eg) return Dg * jg(e / Dg);
	if (e > 20 * wg) return Og.find((t) => t >= e);
	let t = 10 ** Math.floor(Math.log10(e));
	for (let n of [
		1,
		2,
		5
	]) if (n * t >= e * (1 - 1e-9)) return n * t;
	return 10 * t;
}
function Mg(e, t) {
	if (e === 0) return "0";
	if (t >= Tg) return Pg(e);
	let [n, r] = kg.find(([t]) => Math.abs(e) >= t) ?? [1, "ns"], i = Math.max(0, Math.ceil(-Math.log10(t / n) - 1e-9));
	return `${(e / n).toFixed(Math.min(i, 9))} ${r}`;
}
function Ng(e) {
	return e < Eg ? J("time_ns", e) : Pg(e);
}
function Pg(e) {
	let t = Math.round(e / Tg);
	return [
		[Math.floor(t / 1440), "d"],
		[Math.floor(t / 60) % 24, "h"],
		[t % 60, "min"]
	].flatMap(([e, t]) => e ? [`${e} ${t}`] : []).join(" ");
}
var Fg = .02;
function Ig(e, t) {
	return (t - e.from) / (e.to - e.from) * e.width;
}
function Lg(e, t) {
	return e.from + t / e.width * (e.to - e.from);
}
function Rg(e) {
	return (e.to - e.from) / e.width;
}
function zg(e, t) {
	return Bg({
		from: 0,
		to: Math.max(e, 100),
		width: t
	}, e);
}
function Bg(e, t) {
	let n = Math.max(t, 100), r = n * 1.04, i = Math.min(Math.max(e.to - e.from, 100), r), a = (e.from + e.to) / 2, o = Math.min(i, n) * Fg, s = -o, c = Math.max(n + o - i, s), l = Math.min(Math.max(a - i / 2, s), c);
	return {
		from: l,
		to: l + i,
		width: e.width
	};
}
function Vg(e, t, n, r) {
	let i = Lg(e, t), a = Math.max(r, 100) * 1.04, o = Math.min(Math.max((e.to - e.from) / n, 100), a), s = i - t / e.width * o;
	return Bg({
		from: s,
		to: s + o,
		width: e.width
	}, r);
}
function Hg(e, t, n) {
	let r = t * Rg(e);
	return Bg({
		from: e.from + r,
		to: e.to + r,
		width: e.width
	}, n);
}
function Ug(e, t, n, r, i = .6) {
	let a = Math.max((n - t) / i, 100), o = (t + n) / 2;
	return Bg({
		from: o - a / 2,
		to: o + a / 2,
		width: e.width
	}, r);
}
function Wg(e, t, n, r) {
	let i = (n - t) / Rg(e);
	if (i < 2) return Ug(e, t, n, r, .05);
	if (t >= e.from && n <= e.to) return e;
	if (i > e.width) return Ug(e, t, n, r, .9);
	let a = (t + n) / 2, o = (e.to - e.from) / 2;
	return Bg({
		from: a - o,
		to: a + o,
		width: e.width
	}, r);
}
function Gg(e, t, n) {
	let r = e.to - e.from, i = t.to - t.from;
	if (n >= 1) return t;
	let a = r * (i / r) ** n, o = Math.abs(i - r) > 1e-9 * r ? (a - r) / (i - r) : n, s = e.from + (t.from - e.from) * o;
	return {
		from: s,
		to: s + a,
		width: t.width
	};
}
function Kg(e, t, n, r, i, a) {
	e.fillStyle = a.raised, e.fillRect(0, 0, t.width, 40), r && (e.fillStyle = a.accent, e.globalAlpha = .25, e.fillRect(Ig(t, r[0]), 0, Ig(t, r[1]) - Ig(t, r[0]), 40), e.globalAlpha = 1), e.font = `11px ${a.font}`, e.textBaseline = "middle", qg(e, t, n, a);
	let { step: o, marks: s } = Ag(t.from, t.to, t.width);
	e.fillStyle = a.quiet;
	let c = o / 5;
	for (let n = Math.ceil(Math.max(0, t.from) / c); n * c <= t.to; n++) e.fillRect(Math.round(Ig(t, n * c)), 36, 1, 4);
	for (let { time: n, label: r } of s) {
		let i = Math.round(Ig(t, n));
		e.fillStyle = a.quiet, e.fillRect(i, 30, 1, 10), e.fillStyle = a.text, e.fillText(r, i + 4, 30);
	}
	i !== null && (e.fillStyle = a.accent, e.fillRect(Math.round(i), 0, 1, 40)), e.fillStyle = a.line, e.fillRect(0, 39, t.width, 1);
}
function qg(e, t, n, r) {
	for (let [i, { name: a, from_ns: o, to_ns: s }] of n.entries()) {
		let n = Math.max(0, Ig(t, o)), c = Math.min(t.width, Ig(t, s));
		if (c <= 0 || n >= t.width) continue;
		e.fillStyle = i % 2 ? r.sunken : r.line, e.fillRect(n, 1, Math.max(1, c - n - 1), 16);
		let l = /^\d+$/.test(a) ? `step ${a}` : a;
		e.fillStyle = r.text, e.measureText(l).width + 8 < c - n && e.fillText(l, n + 4, 10);
	}
}
function Jg(e, t, n, r, i, a) {
	e.fillStyle = a.ground, e.fillRect(0, 0, t.width, 44);
	let o = Math.floor(38 / Math.max(1, r.length));
	for (let [n, i] of r.entries()) {
		let r = Yg(i.pieces, t);
		e.fillStyle = i.colour;
		for (let t = 0; t < r.length; t++) {
			if (!r[t]) continue;
			let i = Math.max(1, (o - 1) * Math.min(1, r[t]));
			e.fillRect(t, 3 + (n + 1) * o - i, 1, i);
		}
	}
	if (i) {
		e.fillStyle = a.accent, e.globalAlpha = .3;
		let n = Ig(t, i[0]);
		e.fillRect(n, 0, Math.max(1, Ig(t, i[1]) - n), 44);
	}
	let s = Ig(t, n.from), c = Math.max(Ig(t, n.to), s + 3);
	e.fillStyle = a.sunken, e.globalAlpha = .7, e.fillRect(0, 0, s, 44), e.fillRect(c, 0, t.width - c, 44), e.globalAlpha = 1, e.strokeStyle = a.accent, e.lineWidth = 2, e.strokeRect(Math.max(1, s), 1, Math.min(c, t.width - 1) - Math.max(1, s), 42);
}
function Yg(e, t) {
	let n = new Float32Array(Math.ceil(t.width));
	for (let { from: r, to: i, chunk: a } of e) {
		if (Sg(a.data) < 1) continue;
		let { start: e, dur: o, busy: s } = a.data.slices, c = a.data.begin[1];
		for (let l = Cg(a.data, 0, r); l < c && e[l] < i; l++) {
			let r = o[l] > 0 ? s[l] / o[l] : 0, i = Ig(t, e[l]);
			Xg(n, i, Math.max(Ig(t, e[l] + o[l]), i), r);
		}
	}
	return n;
}
function Xg(e, t, n, r) {
	for (let i = Math.max(0, Math.floor(t)); i < Math.min(e.length, n); i++) e[i] += r * (Math.min(n, i + 1) - Math.max(t, i));
}
// src/trace/pointer.ts
var Zg = 4;
function Qg(e, t, n) {
	let r = new AbortController(), i = { signal: r.signal };
	e_(e.main, t, n, i), n_(e.ruler, t, n, i), r_(e.overview, t, i);
	for (let r of [e.main, e.ruler]) r.addEventListener("wheel", (e) => $g(e, t, n), {
		...i,
		passive: !1
	});
	return () => r.abort();
}
function $g(e, t, n) {
	e.preventDefault();
	let r = t.timeline.length_ns, i = e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1, [a, o] = [e.deltaX * i, e.deltaY * i];
	e.ctrlKey || e.metaKey ? t.show(Vg(t.view, e.offsetX, Math.exp(-o / 250), r)) : e.shiftKey ? t.show(Hg(t.view, a || o, r)) : (a && t.show(Hg(t.view, a, r)), o && n.scrollBy(o));
}
function e_(e, t, n, r) {
	let i = /* @__PURE__ */ new Map(), a = t.timeline.length_ns, o = null;
	e.addEventListener("pointerdown", (n) => {
		if (n.button !== 0) return;
		e.focus({ preventScroll: !0 }), e.setPointerCapture(n.pointerId), i.set(n.pointerId, {
			x: n.offsetX,
			y: n.offsetY
		});
		let r = Lg(t.view, n.offsetX), { offsetX: a, offsetY: s, shiftKey: c } = n;
		o = i.size === 1 ? {
			x: a,
			y: s,
			time: r,
			range: c,
			moved: !1
		} : null;
	}, r), e.addEventListener("pointermove", (r) => {
		let s = i.get(r.pointerId), { offsetX: c, offsetY: l } = r;
		s ? (i.size === 2 ? t_(i, r, t, n) : o && (o.moved ||= Math.hypot(c - o.x, l - o.y) > Zg, o.moved && o.range ? n.onRange(a_(o.time, Lg(t.view, c), a), !1) : o.moved && (t.show(Hg(t.view, s.x - c, a)), n.scrollBy(s.y - l), n.onHover(null, c, l), e.classList.add("dragged"))), (o?.moved || i.size > 1) && i.set(r.pointerId, {
			x: c,
			y: l
		})) : n.onHover(t.hit(c, l), c, l);
	}, r);
	let s = (r) => {
		if (i.delete(r.pointerId)) {
			if (e.classList.remove("dragged"), o && r.type === "pointerup") {
				let { offsetX: e, offsetY: i } = r;
				o.moved && o.range ? n.onRange(a_(o.time, Lg(t.view, e), a), !0) : o.moved || n.onPick(t.hit(e, i)?.slice ?? null);
			}
			o = null;
		}
	};
	e.addEventListener("pointerup", s, r), e.addEventListener("pointercancel", s, r), e.addEventListener("pointerleave", (e) => n.onHover(null, e.offsetX, 0), r), e.addEventListener("dblclick", (e) => {
		let r = t.hit(e.offsetX, e.offsetY)?.slice;
		r && n.onDouble(r);
	}, r);
}
function t_(e, t, n, r) {
	let [i, a] = [...e.values()], o = {
		middle: (i.x + a.x) / 2,
		apart: Math.abs(i.x - a.x),
		y: (i.y + a.y) / 2
	}, s = e.get(t.pointerId) === i ? a : i, c = (t.offsetX + s.x) / 2, l = Math.abs(t.offsetX - s.x), u = n.timeline.length_ns, d = Hg(n.view, o.middle - c, u), f = Math.max(l, 12) / Math.max(o.apart, 12);
	n.show(Vg(d, c, f, u)), r.scrollBy(o.y - (t.offsetY + s.y) / 2);
}
function n_(e, t, n, r) {
	let i = t.timeline.length_ns;
	i_(e, r, (e, r, a) => {
		let o = Lg(t.view, r.offsetX);
		Math.abs(r.offsetX - e.x) > Zg || !a ? n.onRange(a_(e.time, o, i), a) : n.onRange(null, !0);
	}, (e) => Lg(t.view, e));
}
function r_(e, t, n) {
	let r = t.timeline.length_ns, i = 0;
	i_(e, n, (e, n) => {
		let { view: a } = t, o = Lg(t.whole, n.offsetX) - i;
		t.show(Bg({
			...a,
			from: o,
			to: o + a.to - a.from
		}, r));
	}, (e) => {
		let { view: n, whole: r } = t, a = Lg(r, e), o = 4 * Rg(r);
		return i = a >= n.from - o && a <= n.to + o ? a - n.from : (n.to - n.from) / 2, a;
	});
}
function i_(e, t, n, r) {
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
function a_(e, t, n) {
	let r = (e) => Math.min(Math.max(e, 0), n);
	return [r(Math.min(e, t)), r(Math.max(e, t))];
}
// src/trace/Tooltip.tsx
function o_({ bind: e, width: t, height: n }) {
	let [r, i] = B(null);
	return e.current = i, r ? /* @__PURE__ */ W("div", {
		class: "trace-tooltip",
		style: {
			...r.x > t / 2 ? { right: `${t - r.x + 14}px` } : { left: `${r.x + 14}px` },
			...r.y > n / 2 ? { bottom: `${n - r.y + 12}px` } : { top: `${r.y + 16}px` }
		},
		"aria-hidden": "true",
		children: [/* @__PURE__ */ W("strong", { children: r.title }), r.lines.map((e) => /* @__PURE__ */ W("div", { children: e }, e))]
	}) : null;
}
function s_(e) {
	return e.count === 1 ? [J("time_ns", e.dur_ns)] : [
		`${J("count", e.count)} slices; this one takes most`,
		`${J("time_ns", e.busy_ns)} within ${J("time_ns", e.dur_ns)}`,
		"zoom in to tell them apart"
	];
}
// src/trace/Canvas.tsx
function c_(e) {
	let { engine: t, layout: n, scroller: r, onPick: i, onRange: a } = e, o = H(null), s = H(null), c = H(null), [l, u] = B({
		width: 0,
		height: 0
	}), [d, f] = B(0), p = H(() => {}), m = H({
		onPick: i,
		onRange: a
	});
	m.current = {
		onPick: i,
		onRange: a
	}, V(() => {
		let e = r.current, n = () => {
			let n = e.querySelector(".trace-names").offsetWidth, r = {
				width: Math.max(1, e.clientWidth - n),
				height: e.clientHeight
			};
			u(r), t.resize(r.width, r.height);
		}, i = {
			main: o.current,
			ruler: s.current,
			overview: c.current
		};
		t.attach(i), n();
		let a = new ResizeObserver(n);
		a.observe(e);
		let l = {
			x: 0,
			y: 0
		};
		t.onMoved = () => {
			if (t.cursor === null) return;
			let e = t.hit(l.x, l.y), n = i.main.classList.contains("dragged");
			p.current(n ? null : l_(t, e, l.x, l.y));
		};
		let d = Qg(i, t, {
			onHover: (e, n, r) => {
				Object.assign(l, {
					x: n,
					y: r
				}), p.current(l_(t, e, n, r));
			},
			onPick: (e) => m.current.onPick(e),
			onDouble: (e) => m.current.onRange([e.from_ns, e.from_ns + e.dur_ns]),
			onRange: (e, n) => {
				t.range = e, t.redraw(), n && m.current.onRange(e);
			},
			scrollBy: (t) => e.scrollBy({
				top: t,
				behavior: "instant"
			})
		});
		return o.current.focus({ preventScroll: !0 }), () => {
			d(), a.disconnect(), t.attach(null);
		};
	}, [t]);
	let { timeline: h } = t, g = { width: `${l.width}px` };
	return /* @__PURE__ */ W("div", {
		class: "trace-canvas",
		children: [
			/* @__PURE__ */ W("div", {
				class: "head",
				children: [/* @__PURE__ */ W("div", {
					class: "corner",
					children: Ng(h.length_ns)
				}), /* @__PURE__ */ W("canvas", {
					ref: c,
					style: {
						...g,
						height: "44px"
					},
					"aria-label": "Overview"
				})]
			}),
			/* @__PURE__ */ W("div", {
				class: "head",
				children: [/* @__PURE__ */ W("div", {
					class: "corner",
					children: h.steps.length > 0 && "Steps"
				}), /* @__PURE__ */ W("canvas", {
					ref: s,
					class: "ruler",
					style: {
						...g,
						height: "40px"
					},
					"aria-label": "Time"
				})]
			}),
			/* @__PURE__ */ W("div", {
				class: "body",
				children: [/* @__PURE__ */ W("div", {
					class: "scroller",
					ref: r,
					onScroll: (e) => {
						t.top = e.currentTarget.scrollTop, t.redraw(), f(t.top);
					},
					children: /* @__PURE__ */ W("div", {
						class: "content",
						style: { height: `${n.height}px` },
						children: [/* @__PURE__ */ W(hg, {
							...e,
							top: d,
							height: l.height
						}), /* @__PURE__ */ W("canvas", {
							ref: o,
							class: "slices",
							style: {
								...g,
								height: `${l.height}px`
							},
							tabIndex: 0,
							role: "application",
							"aria-label": "Timeline. Arrow keys go from slice to slice, W A S D zoom and move, question mark lists all keys."
						})]
					})
				}), /* @__PURE__ */ W("div", {
					class: "over",
					style: g,
					children: /* @__PURE__ */ W(o_, {
						bind: p,
						...l
					})
				})]
			})
		]
	});
}
function l_(e, t, n, r) {
	if (e.cursor = r > 0 ? n : null, e.hovered = t?.slice ?? null, e.redraw(), !t) return null;
	let { track: i } = t.item;
	if (og(i)) {
		let t = e.valueAt(i.id, n);
		if (!t) return null;
		let a = (e) => bg(e, i.unit), o = t.low < t.high ? [`${a(t.low)} to ${a(t.high)}`] : [];
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
		lines: s_(t.slice)
	} : null;
}
// src/trace/Trouble.tsx
function u_({ error: e, onAgain: t }) {
	let n = e instanceof Ke ? e.hint : "";
	return /* @__PURE__ */ W("div", {
		class: "trace-trouble",
		role: "alert",
		children: [
			/* @__PURE__ */ W("p", { children: e.message }),
			n && /* @__PURE__ */ W("p", {
				class: "hint",
				children: n
			}),
			t && /* @__PURE__ */ W("button", {
				type: "button",
				class: "button",
				onClick: t,
				children: "Try again"
			})
		]
	});
}
function d_({ progress: e }) {
	let t = e?.share ?? null;
	return /* @__PURE__ */ W("div", {
		class: "trace-waiting",
		role: "status",
		children: [/* @__PURE__ */ W("p", { children: [e ? `The server is ${e.doing}` : "Opening the timeline", " …"] }), /* @__PURE__ */ W("progress", {
			"aria-label": "Progress",
			...t === null ? {} : {
				value: t,
				max: 1
			}
		})]
	});
}
// src/trace/Details.tsx
var f_ = {
	operators: "Operator",
	kernels: "Kernel",
	modules: "Module"
};
function p_({ details: e, hrefOf: t, onJump: n }) {
	if (e.error) return /* @__PURE__ */ W(u_, { error: e.error });
	let r = e.value;
	return r ? /* @__PURE__ */ W("div", {
		class: "trace-details",
		children: [/* @__PURE__ */ W("div", {
			class: "main",
			children: [
				/* @__PURE__ */ W("h3", { children: r.name }),
				/* @__PURE__ */ W("p", {
					class: "links",
					children: r.links.map(({ label: e, page: n, search: r }) => /* @__PURE__ */ W("a", {
						href: t(n, r),
						title: e,
						children: [
							f_[n],
							" ",
							e
						]
					}, n + r))
				}),
				/* @__PURE__ */ W("dl", {
					class: "facts",
					children: [
						/* @__PURE__ */ W(m_, {
							label: "Duration",
							value: J("time_ns", r.dur_ns)
						}),
						/* @__PURE__ */ W(m_, {
							label: "Self time",
							value: J("time_ns", r.self_ns)
						}),
						/* @__PURE__ */ W(m_, {
							label: "Start",
							value: J("moment_ns", r.from_ns)
						}),
						/* @__PURE__ */ W(m_, {
							label: "Kind",
							value: r.kind
						}),
						r.facts.map(([e, t]) => /* @__PURE__ */ W(m_, {
							label: e,
							value: t
						}, e))
					]
				})
			]
		}), /* @__PURE__ */ W("div", {
			class: "beside",
			children: [/* @__PURE__ */ W(h_, {
				title: "Flows",
				rows: r.flows.map(({ kind: e, direction: t, place: n }) => ({
					label: `${t === "to" ? "→" : "←"} ${e}`,
					place: n
				})),
				onJump: n
			}), /* @__PURE__ */ W(h_, {
				title: "Around, outermost first",
				rows: r.around.map((e) => ({
					label: "",
					place: e
				})),
				onJump: n
			})]
		})]
	}) : /* @__PURE__ */ W("p", {
		class: "told",
		children: "Looking it up …"
	});
}
function m_({ label: e, value: t }) {
	return t ? /* @__PURE__ */ W("div", { children: [/* @__PURE__ */ W("dt", { children: e.charAt(0).toUpperCase() + e.slice(1) }), /* @__PURE__ */ W("dd", { children: t })] }) : null;
}
function h_({ title: e, rows: t, onJump: n }) {
	return t.length ? /* @__PURE__ */ W(b, { children: [/* @__PURE__ */ W("h4", { children: e }), /* @__PURE__ */ W("ol", {
		class: "places",
		children: t.map(({ label: e, place: t }) => /* @__PURE__ */ W("li", { children: [
			e && /* @__PURE__ */ W("span", {
				class: "told",
				children: [e, " "]
			}),
			/* @__PURE__ */ W("button", {
				type: "button",
				class: "jump",
				onClick: () => n(t),
				children: t.name
			}),
			/* @__PURE__ */ W("span", {
				class: "told",
				children: [" ", J("time_ns", t.dur_ns)]
			})
		] }, `${e}${t.id}`))
	})] }) : null;
}
function g_({ slice: e, name: t, onZoom: n }) {
	return /* @__PURE__ */ W("div", {
		class: "trace-details",
		children: /* @__PURE__ */ W("div", {
			class: "main",
			children: [
				/* @__PURE__ */ W("h3", { children: [J("count", e.count), " slices, too short to tell apart here"] }),
				/* @__PURE__ */ W("p", { children: [
					"They take ",
					J("time_ns", e.busy_ns),
					" of ",
					J("time_ns", e.dur_ns),
					"; most of it is ",
					/* @__PURE__ */ W("strong", { children: t }),
					"."
				] }),
				/* @__PURE__ */ W("button", {
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
function __({ found: e, q: t, onSearch: n }) {
	if (e.error) return /* @__PURE__ */ W(u_, { error: e.error });
	if (!e.value) return /* @__PURE__ */ W("p", {
		class: "told",
		children: "Searching …"
	});
	if (!e.value.total) return /* @__PURE__ */ W("p", {
		class: "told",
		children: [
			"No slice has “",
			t,
			"” in its name."
		]
	});
	let { hits: r, total: i, names: a } = e.value;
	return /* @__PURE__ */ W("div", {
		class: "trace-found",
		children: [r.length < i && /* @__PURE__ */ W("p", {
			class: "told",
			children: [
				"Enter goes through the first ",
				J("count", r.length),
				" of ",
				J("count", i),
				"."
			]
		}), /* @__PURE__ */ W("table", { children: [/* @__PURE__ */ W("thead", { children: /* @__PURE__ */ W("tr", { children: [
			/* @__PURE__ */ W("th", { children: "Name" }),
			/* @__PURE__ */ W("th", {
				class: "number",
				children: "Slices"
			}),
			/* @__PURE__ */ W("th", {
				class: "number",
				children: "Total"
			})
		] }) }), /* @__PURE__ */ W("tbody", { children: a.map(({ name: e, count: t, total_ns: r }) => /* @__PURE__ */ W("tr", { children: [
			/* @__PURE__ */ W("td", { children: /* @__PURE__ */ W("button", {
				type: "button",
				class: "jump",
				onClick: () => n(e),
				children: e
			}) }),
			/* @__PURE__ */ W("td", {
				class: "number",
				children: J("count", t)
			}),
			/* @__PURE__ */ W("td", {
				class: "number",
				children: J("time_ns", r)
			})
		] }, e)) })] })]
	});
}
// src/trace/keys.ts
var v_ = {
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
}, y_ = [
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
function b_({ key: e, ctrlKey: t, metaKey: n, altKey: r }) {
	return t || n || r ? null : v_[e.toLowerCase()] ?? null;
}
// src/trace/KeySheet.tsx
function x_({ onClose: e }) {
	let t = H(null);
	return V(() => t.current?.showModal(), []), /* @__PURE__ */ W("dialog", {
		ref: t,
		class: "trace-keys",
		"aria-label": "Keys of the trace view",
		onClose: e,
		onKeyDown: (t) => {
			t.key === "?" && e();
		},
		children: [
			/* @__PURE__ */ W("h2", { children: "Keys" }),
			/* @__PURE__ */ W("dl", { children: y_.map(([e, t]) => /* @__PURE__ */ W("div", {
				class: "key",
				children: [/* @__PURE__ */ W("dt", { children: e.map((e) => /* @__PURE__ */ W("kbd", { children: e }, e)) }), /* @__PURE__ */ W("dd", { children: t })]
			}, t)) }),
			/* @__PURE__ */ W("form", {
				method: "dialog",
				children: /* @__PURE__ */ W("button", {
					type: "submit",
					class: "button",
					children: "Close"
				})
			})
		]
	});
}
// src/trace/Panel.tsx
function S_({ tabs: e, open: t, onOpen: n }) {
	let r = e.find((e) => e.id === t) ?? e[0];
	return r ? /* @__PURE__ */ W("section", {
		class: "trace-panel",
		"aria-label": "What was chosen",
		children: [/* @__PURE__ */ W("div", {
			class: "tabs",
			children: [/* @__PURE__ */ W("div", {
				role: "tablist",
				children: e.map((e) => /* @__PURE__ */ W("button", {
					type: "button",
					role: "tab",
					"aria-selected": e === r,
					onClick: () => n(e.id),
					children: e.title
				}, e.id))
			}), /* @__PURE__ */ W("button", {
				type: "button",
				class: "icon-button close",
				"aria-label": "Close",
				onClick: r.onClose,
				children: /* @__PURE__ */ W(G, { name: "close" })
			})]
		}), /* @__PURE__ */ W("div", {
			class: "content",
			role: "tabpanel",
			children: r.content
		})]
	}) : null;
}
// src/trace/useAnswer.ts
var C_ = {
	value: null,
	error: null,
	progress: null,
	loading: !1
};
function w_(e, t, n = 0) {
	let [r, i] = B(C_);
	return V(() => {
		if (!e) {
			i(C_);
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
function T_({ api: e, range: t, tracks: n, hrefOf: r }) {
	let { value: i, error: a, progress: o } = w_((r) => e.aggregate(t, n, r), [
		e,
		t.join(),
		n.join()
	], 30), s = ke(() => {
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
	return a ? /* @__PURE__ */ W(u_, { error: a }) : i ? /* @__PURE__ */ W(bn.Provider, {
		value: s,
		children: /* @__PURE__ */ W(dm, { block: i })
	}) : /* @__PURE__ */ W(d_, { progress: o });
}
// src/trace/Export.tsx
function E_({ api: e, range: t }) {
	return /* @__PURE__ */ W("details", {
		class: "trace-export",
		onKeyDown: (e) => {
			e.key === "Escape" && e.currentTarget.open && (e.preventDefault(), e.currentTarget.open = !1);
		},
		children: [/* @__PURE__ */ W("summary", {
			class: "button",
			children: "Export for Perfetto"
		}), /* @__PURE__ */ W("div", {
			class: "menu",
			children: [
				/* @__PURE__ */ W("p", { children: "Downloads a trace file. Open it at ui.perfetto.dev." }),
				/* @__PURE__ */ W("a", {
					class: "button",
					href: e.exportUrl(),
					download: !0,
					children: "The whole recording"
				}),
				t ? /* @__PURE__ */ W("a", {
					class: "button",
					href: e.exportUrl(t),
					download: !0,
					children: ["The chosen range of ", J("time_ns", t[1] - t[0])]
				}) : /* @__PURE__ */ W("p", {
					class: "told",
					children: "Drag on the ruler to choose a range to export."
				})
			]
		})]
	});
}
// src/trace/SearchBox.tsx
var D_ = 180;
function O_({ q: e, onSearch: t, search: n, box: r }) {
	let [i, a] = B(e), o = H(e), s = (e) => {
		e !== o.current && (o.current = e, t(e));
	};
	V(() => {
		e !== o.current && a(e), o.current = e;
	}, [e]), V(() => {
		let e = setTimeout(() => s(i), D_);
		return () => clearTimeout(e);
	}, [i]);
	let c = n.found.value?.total ?? 0;
	return /* @__PURE__ */ W("div", {
		class: "trace-search",
		children: [
			/* @__PURE__ */ W(G, { name: "search" }),
			/* @__PURE__ */ W("input", {
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
			e && /* @__PURE__ */ W(b, { children: [
				/* @__PURE__ */ W("span", {
					class: "told",
					role: "status",
					children: k_(n.found, n.hit)
				}),
				/* @__PURE__ */ W("button", {
					type: "button",
					class: "icon-button",
					"aria-label": "Previous hit",
					disabled: !c,
					onClick: () => n.step(-1),
					children: /* @__PURE__ */ W(G, { name: "up" })
				}),
				/* @__PURE__ */ W("button", {
					type: "button",
					class: "icon-button",
					"aria-label": "Next hit",
					disabled: !c,
					onClick: () => n.step(1),
					children: /* @__PURE__ */ W(G, { name: "down" })
				})
			] })
		]
	});
}
function k_({ value: e, loading: t }, n) {
	if (!e) return t ? "searching" : "";
	if (!e.total) return "nothing found";
	let r = J("count", e.total);
	return n < 0 ? `${r} found` : `${J("count", n + 1)} of ${r}`;
}
// src/trace/Toolbar.tsx
function A_(e) {
	let { run: t, flows: n, range: r, api: i, q: a, onSearch: o, search: s, searchBox: c } = e;
	return /* @__PURE__ */ W("div", {
		class: "trace-bar",
		role: "toolbar",
		"aria-label": "Timeline",
		children: [
			/* @__PURE__ */ W(O_, {
				q: a,
				onSearch: o,
				search: s,
				box: c
			}),
			/* @__PURE__ */ W("div", {
				class: "buttons",
				children: [
					/* @__PURE__ */ W("button", {
						type: "button",
						class: "button",
						title: "Show everything (0)",
						onClick: () => t("fit"),
						children: "Fit all"
					}),
					/* @__PURE__ */ W("button", {
						type: "button",
						class: "button",
						title: "Zoom in (W)",
						onClick: () => t("zoom in"),
						children: "Zoom in"
					}),
					/* @__PURE__ */ W("button", {
						type: "button",
						class: "button",
						title: "Zoom out (S)",
						onClick: () => t("zoom out"),
						children: "Zoom out"
					}),
					/* @__PURE__ */ W("button", {
						type: "button",
						class: "button",
						title: "Arrows from launches to device work (L)",
						"aria-pressed": n !== null,
						onClick: () => t("flows"),
						children: "Flows"
					}),
					n && /* @__PURE__ */ W("span", {
						class: "told",
						children: j_(n)
					}),
					/* @__PURE__ */ W(E_, {
						api: i,
						range: r
					}),
					/* @__PURE__ */ W("button", {
						type: "button",
						class: "button",
						title: "Keys (?)",
						onClick: () => t("help"),
						children: "Keys"
					})
				]
			}),
			/* @__PURE__ */ W("span", {
				class: "trace-busy",
				role: "status",
				children: e.loading ? "loading" : ""
			})
		]
	});
}
function j_({ value: e, error: t }) {
	if (t) return t.message;
	if (!e) return "";
	let n = e.from.length, r = J("count", e.total);
	return n < e.total ? `${J("count", n)} of ${r}` : r;
}
// src/trace/useBatched.ts
function M_(e) {
	let t = H(e);
	t.current = e;
	let n = H(null);
	return H((e, r) => {
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
function N_({ api: e, engine: t, placed: n, onState: r, scrollTo: i }, a, o) {
	let [s, c] = B(null), [l, u] = B(null), d = H(void 0), f = H(n), p = w_(a === void 0 ? null : (t) => e.slice(a, t), [e, a]), m = p.value?.id === a ? p : {
		...p,
		value: null
	}, h = (e) => {
		i(e);
		let { aim: n, timeline: r } = t, a = e.from_ns + e.dur_ns, o = Wg(n, e.from_ns, a, r.length_ns);
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
	V(() => {
		a === void 0 && !s && u(null);
	}, [a, s]), V(() => {
		let e = m.value;
		e && (c(null), u(e), f.current ? i(e) : d.current !== e.id && h(e), f.current = !1, d.current = e.id);
	}, [m.value]);
	let y = ke(() => P_(m.value, o), [m.value, o]);
	return V(() => {
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
			t.glide(Ug(t.aim, l.from_ns, e, t.timeline.length_ns));
		}
	};
}
function P_(e, t) {
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
var F_ = {
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
}, I_ = [
	.64,
	.73,
	.82
], L_ = [
	[/nccl|rccl|hccl|cncl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast_/i, "communication"],
	[/memcpy|memset|\bcopy|dma/i, "copy"],
	[/flash|fmha|attention|attn|softmax|sdpa/i, "attention"],
	[/conv|wgrad|dgrad|fprop|winograd|im2col/i, "convolution"],
	[/gemm|gemv|matmul|cutlass|xmma|wgmma|nvjet|cublas|splitk|\bmm\b/i, "matmul"],
	[/reduce|norm|welford|cunn|cumsum|sort|topk|scan/i, "reduction"],
	[/elementwise|vectorized|multi_tensor|foreach|pointwise|adam|sgd|fill|dropout|index|gather|scatter|cat/i, "elementwise"]
], R_ = Object.keys(F_), z_ = 9, B_ = 4.5, V_ = R_.length * z_;
V_ + 1;
function H_(e, t) {
	let n = W_(e, t);
	return R_.indexOf(n) * z_ + X_(t.replace(/\d+/g, "")) % z_;
}
function U_(e) {
	let t = e === "device" ? "matmul" : W_(e, "");
	return R_.indexOf(t) * z_;
}
function W_(e, t) {
	return e === "annotation" || e === "communication" ? e : e === "device" ? L_.find(([e]) => e.test(t))?.[1] ?? "device" : "host";
}
function G_(e) {
	let t = e ? "#f4f6fa" : "#15181d", n = [];
	for (let r of R_) {
		let { hues: i, strength: a } = F_[r];
		for (let r = 0; r < z_; r++) {
			let o = i[Math.floor(r / I_.length) % i.length], s = I_[r % I_.length];
			n.push(K_(o, e ? a * .8 : a, e ? 1.1 - s : s, t));
		}
	}
	return n.push(e ? "#2b313b" : "#e4e7ec"), {
		fills: n,
		text: t
	};
}
function K_(e, t, n, r) {
	let i = J_(r) > .5 ? -.01 : .01, a = Y_(e, t, n);
	for (let o = n; q_(a, r) < B_; o += i) a = Y_(e, t, o);
	return a;
}
function q_(e, t) {
	let [n, r] = [J_(e), J_(t)];
	return (Math.max(n, r) + .05) / (Math.min(n, r) + .05);
}
function J_(e) {
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
function Y_(e, t, n) {
	let r = t * Math.min(n, 1 - n), i = (t) => {
		let i = (t + e / 30) % 12, a = n - r * Math.max(-1, Math.min(i - 3, 9 - i, 1));
		return Math.round(a * 255).toString(16).padStart(2, "0");
	};
	return `#${i(0)}${i(8)}${i(4)}`;
}
function X_(e) {
	let t = 2166136261;
	for (let n = 0; n < e.length; n++) t = Math.imul(t ^ e.charCodeAt(n), 16777619);
	return (t ^ t >>> 15) >>> 0;
}
// src/trace/context.ts
function Z_(e, t, n) {
	let r = devicePixelRatio || 1, [i, a] = [Math.round(t * r), Math.round(n * r)];
	e.width !== i && (e.width = i), e.height !== a && (e.height = a);
	let o = e.getContext("2d", { alpha: !1 });
	return o.setTransform(r, 0, 0, r, 0, 0), o;
}
// src/trace/hit.ts
function Q_(e, t) {
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
function $_(e, t, n, r) {
	let i = null, a = r;
	for (let { from: o, to: s, chunk: c } of e) {
		if (n < o - r || n > s + r || t >= Sg(c.data)) continue;
		let e = c.data.begin[t + 1];
		for (let o = Cg(c.data, t, n - r); o < e; o++) {
			let e = Q_(c.data, o);
			if (e.from_ns > n + r) break;
			let t = Math.max(e.from_ns - n, n - e.from_ns - e.dur_ns, 0);
			t > a || i && t === a || (i = e, a = t);
		}
	}
	return i;
}
function ev(e, t, n, r, i) {
	let a = ug(e, t);
	if (a?.type !== "track") return null;
	let o = dg(a, t);
	return o === null ? null : {
		item: a,
		row: o,
		slice: $_(i(a.track.id), o, n, r)
	};
}
function tv(e, t, n) {
	let r = n === 1 ? e : [...e].reverse();
	for (let { chunk: e } of r) {
		if (t.row >= Sg(e.data)) continue;
		let { start: r } = e.data.slices, i = e.data.begin[t.row], a = e.data.begin[t.row + 1];
		if (n === 1) {
			let n = Cg(e.data, t.row, t.from_ns + t.dur_ns);
			for (; n < a && r[n] < t.from_ns + t.dur_ns;) n++;
			if (n < a) return Q_(e.data, n);
		} else {
			let n = Math.min(Cg(e.data, t.row, t.from_ns), a - 1);
			for (; n >= i && r[n] >= t.from_ns;) n--;
			if (n >= i) return Q_(e.data, n);
		}
	}
	return null;
}
// src/trace/windows.ts
var nv = 512;
function rv(e) {
	return Math.max(-6, Math.floor(Math.log2(e)));
}
function iv(e, t, n) {
	let r = nv * 2 ** t, i = Math.max(0, Math.floor(e.from / r) * r), a = Math.min(n, Math.ceil(e.to / r) * r);
	return {
		from: i,
		to: Math.max(a, i)
	};
}
var av = class {
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
		let i = [...r].sort((e, n) => ov(e, t) - ov(n, t)), a = [], o = [n];
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
		let i = iv(n, t, r), a = /* @__PURE__ */ new Map();
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
function ov(e, t) {
	return e.level <= t ? t - e.level : (e.level - t) * 1.5;
}
// src/trace/loader.ts
var sv = 30, cv = 3e6, lv = 5e5, uv = class {
	api;
	length;
	names;
	events;
	slices = new av(cv);
	curves = new av(lv);
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
		}, sv);
	}
	stop() {
		this.timer && clearTimeout(this.timer), this.wanted = null;
		for (let e of this.running) e.abort.abort();
	}
	ask() {
		if (!this.wanted) return;
		let { view: e, tracks: t } = this.wanted, n = rv(Rg(e));
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
		return this.requests(t, rv(Rg(e)), e);
	}
	requests(e, t, n) {
		return [!0, !1].flatMap((r) => {
			let i = e.filter((e) => og(e) === r).map((e) => e.id);
			return (r ? this.curves : this.slices).missing(i, t, n, this.length).filter((e) => !this.running.some((t) => dv(t, e, r))).map((e) => ({
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
		return this.overview && rv(Rg(this.overview.view));
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
		this.names.add(n.names), this.slices.add(e, xg(r, e.tracks), n.slices + 1);
	}
	async fetchCurves(e, t) {
		let { tracks: n } = await this.api.counters(e, t), r = new Map(n.map((e) => [e.track, e])), i = n.reduce((e, { x: t }) => e + t.length, 1);
		this.curves.add(e, r, i);
	}
	tell() {
		this.events.onLoading(this.running.some((e) => !e.ahead));
	}
};
function dv(e, t, n) {
	if (e.curves !== n || e.level !== t.level || e.abort.signal.aborted) return !1;
	let r = new Set(e.tracks);
	return e.from <= t.from && e.to >= t.to && t.tracks.every((e) => r.has(e));
}
// src/trace/names.ts
var fv = 2, pv = 5e4, mv = class {
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
		let i = this.matches(t) ? H_(e, this.text(t)) : V_;
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
		return n === void 0 && (this.widths.size > pv && this.widths.clear(), n = t(e), this.widths.set(e, n)), n;
	}
	cut(e, t, n) {
		let r = this.text(e), i = this.width(r, n);
		if (i <= t) return r;
		let a = Math.floor(r.length * t / i);
		for (; a >= fv;) {
			let e = `${r.slice(0, a)}…`;
			if (this.width(e, n) <= t) return e;
			a--;
		}
		return "";
	}
};
// src/trace/overview.ts
function hv(e) {
	let t = (t, n) => e.filter((e) => t.includes(e.kind)).sort((e, t) => t.events - e.events).slice(0, n);
	return [...t(["host"], 2), ...t(["device", "communication"], 4)];
}
// src/trace/paintCurves.ts
var gv = 4;
function _v(e, t, n, r, i, a) {
	let { lowest: o, highest: s } = t.track, c = Math.min(0, o), l = t.height - 8, u = t.y - i + gv + l, d = l / (s - c || 1), f = (e) => u - (e - c) * d;
	e.fillStyle = a.line, e.fillRect(0, Math.round(u), r.width, 1);
	for (let t of n) {
		let n = vv(t, r);
		if (n.length) {
			e.fillStyle = a.curve, e.globalAlpha = .28, yv(e, n, () => u, (e) => f(e.mean)), yv(e, n, (e) => f(e.low), (e) => f(e.high)), e.globalAlpha = 1, e.strokeStyle = a.curve, e.lineWidth = 1.25, e.beginPath();
			for (let t of n) e.lineTo(t.x, f(t.mean)), e.lineTo(t.until, f(t.mean));
			e.stroke();
		}
	}
}
function vv({ from: e, to: t, chunk: n }, r) {
	let { x: i, low: a, mean: o, high: s } = n.data, c = 1 / Rg(r), l = (e - r.from) * c, u = (t - r.from) * c, d = [];
	for (let t = Math.max(0, xv(i, e)); t < i.length; t++) {
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
function yv(e, t, n, r) {
	e.beginPath();
	for (let n of t) e.lineTo(n.x, r(n)), e.lineTo(n.until, r(n));
	for (let r = t.length - 1; r >= 0; r--) e.lineTo(t[r].until, n(t[r])), e.lineTo(t[r].x, n(t[r]));
	e.fill();
}
function bv(e, t) {
	for (let { from: n, to: r, chunk: i } of e) {
		if (t < n || t > r) continue;
		let { x: e, low: a, mean: o, high: s } = i.data, c = xv(e, t);
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
function xv(e, t) {
	let n = 0, r = e.length;
	for (; n < r;) {
		let i = n + r >> 1;
		e[i] <= t ? n = i + 1 : r = i;
	}
	return n - 1;
}
// src/trace/paint.ts
var Sv = 12;
function Cv(e, t, n) {
	let { view: r, height: i, top: a, layout: o, theme: s, names: c } = n;
	e.fillStyle = s.ground, e.fillRect(0, 0, r.width, i), wv(e, n), t.begin(r.width, i, n.ratio, s.palette.fills);
	for (let l of lg(o, a, a + i)) l.type !== "group" && (og(l.track) ? _v(e, l, n.curvesOf(l.track.id), r, a, s) : t.track(l, n.slicesOf(l.track.id), c, r, a, a + i));
	t.draw(e, s, c), Tv(e, n), Ev(e, n), Dv(e, n), n.hovered && kv(e, n, n.hovered, 1), n.selected && kv(e, n, n.selected, 2);
}
function wv(e, t) {
	let { view: n, height: r, theme: i, length: a } = t, o = Ig(n, 0), s = Ig(n, a);
	e.fillStyle = i.sunken, o > 0 && e.fillRect(0, 0, o, r), s < n.width && e.fillRect(s, 0, n.width - s, r), e.fillStyle = i.line;
	let c = -12;
	for (let i of t.steps) {
		let t = Math.round(Ig(n, i.from_ns));
		t < 0 || t > n.width || t - c < Sv || (e.fillRect(t, 0, 1, r), c = t);
	}
}
function Tv(e, { view: t, height: n, top: r, layout: i, theme: a }) {
	for (let o of lg(i, r, r + n)) o.type !== "track" && (e.fillStyle = a.raised, e.fillRect(0, o.y - r, t.width, o.height), e.fillStyle = a.line, e.fillRect(0, o.y - r, t.width, 1));
}
function Ev(e, { view: t, height: n, range: r, theme: i }) {
	if (!r) return;
	let a = Ig(t, r[0]), o = Ig(t, r[1]);
	e.fillStyle = i.accent, e.globalAlpha = .12, e.fillRect(a, 0, o - a, n), e.globalAlpha = 1, e.fillRect(Math.round(a), 0, 1, n), e.fillRect(Math.round(o) - 1, 0, 1, n);
}
function Dv(e, t) {
	let { view: n, theme: r, layout: i, top: a, height: o } = t;
	e.strokeStyle = r.text, e.fillStyle = r.text;
	let s = Math.min(.35, Math.max(.08, 20 / t.arrows.length));
	for (let { from: r, to: c, strong: l } of t.arrows) {
		let t = i.byTrack.get(r.track), u = i.byTrack.get(c.track);
		if (!t || !u) continue;
		let d = Ig(n, Math.min(r.from_ns + r.dur_ns, Math.max(r.from_ns, c.from_ns))), f = Ig(n, c.from_ns), p = fg(t, r.row) - a + 9, m = fg(u, c.row) - a + 9;
		Math.max(d, f) < 0 || Math.min(d, f) > n.width || Math.max(p, m) < 0 || Math.min(p, m) > o || (e.globalAlpha = l ? .9 : s, e.lineWidth = l ? 1.5 : 1, Ov(e, d, p, f, m));
	}
	e.globalAlpha = 1;
}
function Ov(e, t, n, r, i) {
	let a = Math.min(Math.max(Math.abs(r - t) / 2, 16), 120);
	e.beginPath(), e.moveTo(t, n), e.bezierCurveTo(t + a, n, r - a, i, r - 2, i), e.stroke(), e.beginPath(), e.moveTo(r, i), e.lineTo(r - 6, i - 3.5), e.lineTo(r - 6, i + 3.5), e.fill();
}
function kv(e, t, n, r) {
	let i = t.layout.byTrack.get(n.track);
	if (!i || n.row >= i.rows) return;
	let { x: a, y: o, width: s, height: c } = Av(t, i, n);
	e.strokeStyle = t.theme.text, e.lineWidth = r, e.strokeRect(a, o, s, c);
}
function Av({ view: e, top: t }, n, r) {
	let i = Math.max(Math.round(Ig(e, r.from_ns)), -8), a = Math.min(Math.round(Ig(e, r.from_ns + r.dur_ns)), e.width + 8);
	return {
		x: i,
		y: fg(n, r.row) - t + 1,
		width: Math.max(a - i, 2),
		height: 16
	};
}
// src/trace/strips.ts
var jv = 22, Mv = .25, Nv = class {
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
		this.most = Math.ceil(t / 18) + 2, this.width !== i || this.pixels.length < i * this.most ? this.pixels = new Uint32Array(i * this.most) : this.pixels.fill(0, 0, this.tops.length * i), this.width = i, this.ratio = n, this.colours = Pv(r), this.tops = [], this.labels = [], this.slices = 0;
	}
	track(e, t, n, r, i, a) {
		let o = Math.max(0, Math.floor((i - e.y) / 18)), s = Math.min(e.rows - 1, Math.floor((a - e.y) / 18));
		for (let a = o; a <= s && this.tops.length < this.most; a++) {
			let o = fg(e, a) - i + 1, s = this.tops.length * this.width;
			this.tops.push(o);
			let c = 0;
			for (let i of t) a >= Sg(i.chunk.data) || (c = this.row(e.track.kind, a, o, s, c, i, n, r));
		}
	}
	row(e, t, n, r, i, a, o, s) {
		let { pixels: c, colours: l, ratio: u } = this, { data: d } = a.chunk, { start: f, dur: p, name: m, count: h, busy: g } = d.slices, _ = o.colours(e), v = u / Rg(s), y = Math.max(0, Math.round((a.from - s.from) * v)), b = Math.min(this.width, Math.round((a.to - s.from) * v)), x = d.begin[t + 1], S = Math.max(i, y);
		for (let i = Cg(d, t, a.from); i < x; i++) {
			let t = (f[i] - s.from) * v;
			if (t >= b) break;
			this.slices++;
			let a = Math.round(t), d = Math.min(Math.max(Math.round(t + p[i] * v), a + 1), b), y = Math.max(a, S), x = d - y;
			if (x < 1) continue;
			S = d;
			let C = m[i], w = _[C], T = w === 255 ? o.colour(e, C) : w, E = l[T];
			h[i] > 1 && (E = Fv(E, g[i] / (p[i] || 1))), x === 1 ? c[r + y] = E : (c.fill(E, r + y, r + (x > 3 && d < b ? d - 1 : d)), x >= jv * u && T !== V_ && this.label(y / u, n, x / u, C, h[i], f[i]));
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
function Pv(e) {
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
function Fv(e, t) {
	let n = Math.round(255 * Math.min(1, Mv + .75 * t));
	return (e & 16777215 | n << 24) >>> 0;
}
// src/trace/paintSlices.ts
var Iv = 16, Lv = class extends Nv {
	strip = document.createElement("canvas");
	draw(e, t, n) {
		if (!this.tops.length) return;
		let { width: r, tops: i, strip: a } = this, o = this.pixels.length / r;
		a.width !== r && (a.width = r), a.height !== o && (a.height = o);
		let s = new ImageData(new Uint8ClampedArray(this.pixels.buffer), r);
		a.getContext("2d", { willReadFrequently: !0 }).putImageData(s, 0, 0, 0, 0, r, i.length), e.imageSmoothingEnabled = !1;
		for (let [t, n] of i.entries()) e.drawImage(a, 0, t, r, 1, 0, n, r / this.ratio, Iv);
		e.font = `11px ${t.font}`, e.textBaseline = "middle", e.textAlign = "left", e.fillStyle = t.palette.text;
		let c = (t) => e.measureText(t).width;
		for (let t of this.labels) {
			let r = Rv(t, n, c);
			r && e.fillText(r, t.x + 4, t.y + Iv / 2 + .5);
		}
	}
};
function Rv(e, t, n) {
	let r = e.count > 1 ? `${e.count} × ` : "", i = e.room - (r ? t.width(r, n) : 0), a = t.cut(e.code, i, n);
	return a && r + a;
}
// src/trace/theme.ts
function zv() {
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
		palette: G_(r)
	};
}
// src/trace/engine.ts
var Bv = 55, Vv = 250, Hv = 300, Uv = class {
	timeline;
	layout;
	events;
	names = new mv();
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
	theme = zv();
	painter = new Lv();
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
		this.timeline = t, this.layout = n, this.events = r, this.view = zg(t.length_ns, 1e3), this.bands = hv(t.tracks), this.loader = new uv(e, t.length_ns, this.names, {
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
		this.theme = zv(), this.redraw();
	}
	show(e) {
		this.goal = null, this.view = Bg(e, this.timeline.length_ns), this.redraw();
	}
	glide(e) {
		this.goal = Bg(e, this.timeline.length_ns), matchMedia("(prefers-reduced-motion: reduce)").matches && this.show(this.goal), this.redraw();
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
			let t = 1 - Math.exp(-Math.min(e - this.last, 50) / Bv), n = Math.abs(this.goal.from - this.view.from) < Rg(this.goal) / 2, r = Math.abs(this.goal.to - this.goal.from - (this.view.to - this.view.from)) < Rg(this.goal);
			this.view = n && r ? this.goal : Gg(this.view, this.goal, t), n && r ? this.goal = null : this.redraw();
		}
		this.last = e, (this.view !== this.shown.view || this.top !== this.shown.top) && this.moved(), this.loader.want(this.view, this.askedTracks()), this.draw();
	}
	moved() {
		this.shown = {
			view: this.view,
			top: this.top
		}, this.onMoved(), this.rest && clearTimeout(this.rest), this.rest = setTimeout(() => this.events.onRest(this.view), Vv);
	}
	askedTracks() {
		let e = this.top - Hv;
		return lg(this.layout, e, this.top + this.height + Hv).flatMap((e) => e.type === "track" ? [e.track] : []);
	}
	draw() {
		let { canvases: e, view: t, theme: n, timeline: r, range: i } = this;
		if (!e) return;
		let a = performance.now(), { steps: o, length_ns: s } = r;
		Cv(Z_(e.main, t.width, this.height), this.painter, {
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
		}), e.main.dataset.slices = String(this.painter.slices), e.main.dataset.ms = (performance.now() - a).toFixed(2), Kg(Z_(e.ruler, t.width, e.ruler.clientHeight), t, o, i, this.cursor, n);
		let c = this.whole, l = rv(Rg(c)), u = this.bands.map((e) => ({
			colour: n.palette.fills[U_(e.kind)],
			pieces: this.loader.slices.pieces(e.id, l, {
				from: 0,
				to: s
			})
		}));
		Jg(Z_(e.overview, t.width, e.overview.clientHeight), c, t, u, i, n);
	}
	get whole() {
		return {
			from: 0,
			to: Math.max(1, this.timeline.length_ns),
			width: this.view.width
		};
	}
	slicesOf(e) {
		return this.loader.slices.pieces(e, rv(Rg(this.view)), this.view);
	}
	curvesOf(e) {
		return this.loader.curves.pieces(e, rv(Rg(this.view)), this.view);
	}
	hit(e, t) {
		let n = this.view.from + e * Rg(this.view), r = 3 * Rg(this.view);
		return ev(this.layout, t + this.top, n, r, (e) => this.slicesOf(e));
	}
	valueAt(e, t) {
		return bv(this.curvesOf(e), this.view.from + t * Rg(this.view));
	}
	firstSpot() {
		for (let e of lg(this.layout, this.top, this.top + this.height)) {
			if (e.type !== "track" || og(e.track)) continue;
			let t = {
				row: 0,
				from_ns: this.view.from - 1,
				dur_ns: 0
			}, n = tv(this.slicesOf(e.track.id), t, 1);
			if (n) return n;
		}
		return null;
	}
	towards(e, t) {
		let { loader: n, view: r } = this, i = {
			from: r.from - (r.to - r.from),
			to: r.to + (r.to - r.from)
		}, a = n.slices.pieces(e.track, rv(Rg(r)), i);
		if (t === "next") return tv(a, e, 1);
		if (t === "previous") return tv(a, e, -1);
		if (t === "outer") return $_(a, e.row - 1, e.from_ns, Rg(r));
		let o = tv(a, {
			row: e.row + 1,
			from_ns: e.from_ns - 1,
			dur_ns: 1
		}, 1);
		return o && o.from_ns < e.from_ns + e.dur_ns ? o : null;
	}
	scrollFor(e) {
		let t = this.layout.byTrack.get(e.track);
		if (!t || og(t.track)) return null;
		let n = fg(t, e.row);
		return n >= this.top && n + 24 <= this.top + this.height ? null : Math.max(0, n - this.height / 2);
	}
};
// src/trace/useEngine.ts
function Wv(e, t, n, r, i) {
	let [a, o] = B(!1), [s, c] = B(null), [l, u] = B(null), d = H({}), f = H(i);
	f.current = i;
	let p = ke(() => new Uv(e, t, n, {
		onLoading: o,
		onError: c,
		onRest: (e) => {
			u([e.from, e.to]);
			let n = Gv(e, t.length_ns);
			(n.from !== d.current.from || n.to !== d.current.to) && (d.current = n, f.current(n, "replace"));
		}
	}), [e, t]);
	return V(() => fe(() => p.restyle()), [p]), V(() => p.arrange(n), [p, n]), V(() => {
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
		} : zg(t.length_ns, a);
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
function Gv(e, t) {
	let n = zg(t, e.width), r = (n.to - n.from) / n.width;
	return Math.abs(e.from - n.from) < r && Math.abs(e.to - n.to) < r ? {
		from: void 0,
		to: void 0
	} : {
		from: Math.max(0, Math.round(e.from)),
		to: Math.round(e.to)
	};
}
// src/trace/useFolding.ts
function Kv(e, t, n) {
	let { collapsed: r = [], deep: i = [] } = t, a = ke(() => sg(e.tracks, {
		closed: new Set(r),
		unfolded: new Set(i)
	}), [
		e,
		r.join("|"),
		i.join()
	]), o = (e) => n({ collapsed: qv(r, e) }, "replace"), s = (e) => n({ deep: qv(i, e) }, "replace");
	return {
		layout: a,
		toggle: o,
		unfold: s,
		reveal: ({ track: t, row: n }) => {
			let i = e.tracks.find(({ id: e }) => e === t)?.group, c = a.byTrack.get(t);
			if (i && r.includes(i)) o(i);
			else if (!c || n < c.rows) return !1;
			else if (!c.open) o(ag(t));
			else if (c.unfolded === !1) s(t);
			else return !1;
			return !0;
		}
	};
}
function qv(e, t) {
	let n = e.filter((e) => e !== t);
	return n.length === e.length && n.push(t), n.length ? n : void 0;
}
// src/trace/useKeys.ts
function Jv(e, t) {
	let n = H(e);
	n.current = e, V(() => {
		let e = (e) => {
			let r = e.target;
			if (t || e.defaultPrevented || r.matches("input, textarea, select")) return;
			let i = b_(e), a = e.key.startsWith("Arrow") || e.key.startsWith("Page");
			!i || a && r.closest(".trace-panel") || (e.preventDefault(), n.current(i));
		};
		return document.addEventListener("keydown", e), () => document.removeEventListener("keydown", e);
	}, [t]);
}
// src/trace/useSearch.ts
function Yv(e, t, n, r) {
	let [i, a] = B(-1), o = w_(n ? (t) => e.search(n, t) : null, [e, n]), s = H(null);
	V(() => a(-1), [n]), V(() => {
		t.names.search(n), t.redraw();
	}, [t, n]);
	let c = (e, n = o.loading) => {
		let c = o.value?.hits ?? [];
		if (s.current = n ? e : null, !c.length || n) return;
		let l = ((i < 0 ? Xv(c, t.view.from, e) : i + e) + c.length) % c.length;
		a(l), r(c[l]);
	};
	return V(() => {
		s.current && !o.loading && c(s.current);
	}, [o.loading]), {
		found: o,
		hit: i,
		step: c
	};
}
function Xv(e, t, n) {
	let r = e.findIndex((e) => e.from_ns >= t), i = Math.max(0, r);
	return n === 1 ? i : i - 1;
}
// src/trace/Stage.tsx
var Zv = 1.5;
function Qv(e) {
	let { api: t, timeline: n, state: r, hrefOf: i } = e, a = M_(e.onState), { layout: o, toggle: s, unfold: c, reveal: l } = Kv(n, r, a), { engine: u, loading: d, error: f, rested: p } = Wv(t, n, o, r, a), [m, h] = B("slice"), [g, _] = B(!1), [v, y] = B(!1), b = H(null), x = H(null), S = ke(() => new Map(n.tracks.map((e) => [e.id, e])), [n]), C = v && p ? p : null, w = w_(C && ((e) => t.flows(C, [], e)), [t, C]), T = H(null), E = (e) => {
		T.current = l(e) ? e : null;
		let t = u.scrollFor(e);
		t !== null && b.current?.scrollTo({ top: t });
	};
	V(() => {
		T.current && E(T.current);
	}, [o]);
	let [D] = B(r.from !== void 0), O = N_({
		api: t,
		engine: u,
		placed: D,
		onState: a,
		scrollTo: E
	}, r.select, w.value), k = Yv(t, u, r.q ?? "", (e) => {
		O.jump(e, "replace"), h("slice");
	}), A = (e) => {
		a({ q: e || void 0 }, "replace"), h("search");
	}, j = (e) => {
		a({ range: e ? [e[0], e[1]] : void 0 }, "push"), h("range");
	};
	V(() => {
		u.range = r.range ?? null, u.redraw();
	}, [u, r.range?.join()]);
	let M = () => {
		r.range ? a({ range: void 0 }, "push") : O.spot ? O.pick(null) : r.q && A("");
	}, ee = (e) => {
		let { spot: t } = O, { aim: r, view: i } = u, a = t ? Ig(i, t.from_ns + t.dur_ns / 2) : -1, o = a >= 0 && a <= i.width ? a : i.width / 2;
		u.glide(Vg(r, u.cursor ?? o, e, n.length_ns));
	}, te = (e) => {
		let t = O.spot ? u.towards(O.spot, e) : u.firstSpot();
		t && (O.walk(t), h("slice"));
	}, ne = {
		"zoom in": () => ee(Zv),
		"zoom out": () => ee(1 / Zv),
		left: () => u.glide(Hg(u.aim, -u.view.width / 6, n.length_ns)),
		right: () => u.glide(Hg(u.aim, u.view.width / 6, n.length_ns)),
		up: () => b.current?.scrollBy({ top: -u.height * .8 }),
		down: () => b.current?.scrollBy({ top: u.height * .8 }),
		fit: () => u.glide(zg(n.length_ns, u.view.width)),
		focus: O.focus,
		range: () => {
			let { spot: e } = O;
			e && j([e.from_ns, e.from_ns + e.dur_ns]);
		},
		search: () => x.current?.select(),
		"next hit": () => k.step(1),
		"previous hit": () => k.step(-1),
		next: () => te("next"),
		previous: () => te("previous"),
		outer: () => te("outer"),
		inner: () => te("inner"),
		flows: () => y(!v),
		clear: M,
		help: () => _(!g)
	};
	Jv((e) => ne[e](), g);
	let { spot: re, merged: ie, details: N } = O, P = [];
	if (ie || r.select !== void 0) {
		let e = ie ? /* @__PURE__ */ W(g_, {
			slice: ie,
			name: u.names.text(ie.code),
			onZoom: O.focus
		}) : /* @__PURE__ */ W(p_, {
			details: N,
			hrefOf: i,
			onJump: O.jump
		});
		P.push({
			id: "slice",
			title: "Slice",
			content: e,
			onClose: () => O.pick(null)
		});
	}
	if (r.range) {
		let e = `Range of ${J("time_ns", r.range[1] - r.range[0])}`, n = /* @__PURE__ */ W(T_, {
			api: t,
			hrefOf: i,
			range: r.range,
			tracks: $v(u)
		});
		P.push({
			id: "range",
			title: e,
			content: n,
			onClose: M
		});
	}
	if (r.q) {
		let e = /* @__PURE__ */ W(__, {
			found: k.found,
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
	return /* @__PURE__ */ W("div", {
		class: "trace",
		children: [
			/* @__PURE__ */ W(A_, {
				api: t,
				loading: d,
				search: k,
				searchBox: x,
				onSearch: A,
				q: r.q ?? "",
				flows: v ? w : null,
				range: r.range ?? null,
				run: (e) => ne[e]()
			}),
			f && /* @__PURE__ */ W(u_, {
				error: f,
				onAgain: () => u.redraw()
			}),
			/* @__PURE__ */ W(c_, {
				engine: u,
				layout: o,
				scroller: b,
				onToggle: s,
				onUnfold: c,
				onPick: (e) => {
					O.pick(e), h("slice");
				},
				onRange: j
			}),
			/* @__PURE__ */ W("div", {
				class: "visually-hidden",
				"aria-live": "polite",
				children: re && N.value ? `${N.value.name}, ${J("time_ns", re.dur_ns)}, ${S.get(re.track)?.name}` : ""
			}),
			/* @__PURE__ */ W(S_, {
				tabs: P,
				open: m,
				onOpen: h
			}),
			g && /* @__PURE__ */ W(x_, { onClose: () => _(!1) })
		]
	});
}
function $v({ layout: e, timeline: t }) {
	let n = [...e.byTrack.keys()];
	return n.length === t.tracks.length ? [] : n;
}
// src/trace/decode.ts
var ey = {
	f64: Float64Array,
	u32: Uint32Array,
	i32: Int32Array,
	u16: Uint16Array,
	u8: Uint8Array
}, ty = [
	"track",
	"row",
	"start",
	"dur",
	"name",
	"count",
	"busy",
	"id"
];
function ny(e) {
	let t = new DataView(e).getUint32(0, !0), n = new TextDecoder().decode(new Uint8Array(e, 4, t)), r = JSON.parse(n), i = {}, a = ry(4 + t);
	for (let [t, n, o] of r.arrays) {
		let r = ey[n];
		if (!r) throw Error(`The timeline came with an array of unknown type ${n}.`);
		i[t] = new r(e, a, o), a = ry(a + o * r.BYTES_PER_ELEMENT);
	}
	for (let e of ty) if (!i[e]) throw Error(`The timeline came without its array "${e}".`);
	return {
		head: r,
		slices: i
	};
}
function ry(e) {
	return e + 7 & -8;
}
// src/trace/api.ts
function iy(e, t) {
	let n = (n, r, i) => e.json(`timeline/${n}`, {
		...t,
		...r
	}, i);
	return {
		tracks: (e) => n("tracks", {}, e),
		slices: async (n, r) => {
			let i = {
				...t,
				...ay(n)
			};
			return ny(await e.binary("timeline/slices", i, r));
		},
		counters: (e, t) => n("counters", ay(e), t),
		slice: (e, t) => n("slice", { id: e }, t),
		flows: (e, t, r) => n("flows", {
			...oy(e),
			...sy(t)
		}, r),
		aggregate: (e, t, r) => n("aggregate", {
			...oy(e),
			...sy(t)
		}, r),
		search: (e, t) => n("search", { q: e }, t),
		exportUrl: (n) => e.href("timeline/export", {
			...t,
			...n && oy(n)
		})
	};
}
function ay({ from: e, to: t, pixels: n, tracks: r }) {
	return {
		...oy([e, t]),
		pixels: n,
		...sy(r)
	};
}
function oy([e, t]) {
	return {
		from: Math.floor(e),
		to: Math.ceil(t)
	};
}
function sy(e) {
	return { tracks: e.join(",") };
}
// src/trace/state.ts
function cy(e) {
	let t = {}, n = py(e.from), r = py(e.to);
	n !== null && r !== null && r > n && Object.assign(t, {
		from: n,
		to: r
	});
	let i = py(e.select);
	i !== null && i >= 0 && (t.select = i), e.q && (t.q = e.q);
	let [a, o] = (e.range ?? "").split("-").map(py);
	a != null && o != null && o > a && (t.range = [a, o]);
	let s = (e.collapsed ?? "").split("|").filter(Boolean);
	s.length && (t.collapsed = s.map(decodeURIComponent));
	let c = (e.deep ?? "").split("-").map(py);
	return c.every((e) => e !== null) && (t.deep = c), t;
}
function ly(e) {
	let t = {};
	for (let [n, r] of Object.entries(e)) t[n] = uy(r);
	return t;
}
function uy(e) {
	return e === void 0 ? "" : Array.isArray(e) ? e.map((e) => typeof e == "number" ? dy(e) : fy(e)).join(typeof e[0] == "number" ? "-" : "|") : typeof e == "number" ? dy(e) : e;
}
function dy(e) {
	return String(Math.max(0, Math.round(e)));
}
function fy(e) {
	return e.replace(/[%|]/g, encodeURIComponent);
}
function py(e) {
	return e && Number.isFinite(Number(e)) ? Number(e) : null;
}
// src/trace/TraceView.tsx
function my({ waiting: e, failed: t, ...n }) {
	let [r, i] = B(0), { api: a } = n, o = w_((e) => a.tracks(e), [a, r]);
	return o.error ? /* @__PURE__ */ W(b, { children: t(o.error, () => i(r + 1)) }) : o.value ? o.value.tracks.length ? /* @__PURE__ */ W(Qv, {
		...n,
		timeline: o.value
	}) : /* @__PURE__ */ W("p", {
		class: "trace-waiting",
		children: "This recording has no events, so there is no timeline."
	}) : /* @__PURE__ */ W(b, { children: e(o.progress) });
}
// src/app/pages/TracePage.tsx
function hy({ of: e }) {
	let { client: t } = U(), { run: n, worker: r, span: i, version: a, route: o } = e, s = [
		n.name,
		r,
		i,
		a
	].join("\n"), c = ke(() => iy(t, {
		run: n.name,
		worker: r,
		span: i
	}), [t, s]);
	return /* @__PURE__ */ W("div", {
		class: "trace-page",
		children: [/* @__PURE__ */ W("h1", {
			class: "visually-hidden",
			children: ["Trace of ", n.name]
		}), /* @__PURE__ */ W(my, {
			api: c,
			waiting: (e) => /* @__PURE__ */ W(ln, {
				progress: e,
				what: "the timeline"
			}),
			failed: (e, t) => /* @__PURE__ */ W(un, {
				error: Ye(e),
				onRetry: t
			}),
			state: cy(o.query),
			onState: (e, t) => jt({
				...o,
				query: St(o.query, ly(e))
			}, t),
			hrefOf: (e, t) => xt(n.name, e, o.query, {
				[`find.${e}`]: t,
				...e !== "modules" && { open: t }
			})
		}, s)]
	});
}
// src/app/pages/RunPage.tsx
var gy = {
	overview: tg,
	operators: Qh,
	kernels: zh,
	memory: Dh,
	modules: Dh,
	distributed: Dh,
	trace: hy
};
function _y({ route: e }) {
	let { listing: t } = U();
	if (!t) return null;
	let n = t.runs.find(({ name: t }) => t === e.run);
	if (!n) return /* @__PURE__ */ W(sh, { name: e.run });
	if (!n.timeline && !(e.page === "kernels" && n.counters.length > 0)) return /* @__PURE__ */ W(yy, { run: n });
	let { worker: r, span: i } = Pt(n, e.query);
	return /* @__PURE__ */ W(vy, {
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
function vy(e) {
	let t = Lt(e.run), [n, r] = B(t), i = gy[e.route.page];
	return /* @__PURE__ */ W(b, { children: [n === t ? e.run.growing && /* @__PURE__ */ W(mn, {}) : /* @__PURE__ */ W(pn, { onShow: () => r(t) }), /* @__PURE__ */ W(i, { of: {
		...e,
		version: n
	} })] });
}
function yy({ run: e }) {
	return /* @__PURE__ */ W("div", {
		class: "message",
		children: [
			/* @__PURE__ */ W("h1", { children: [e.name, " has no timeline"] }),
			/* @__PURE__ */ W("p", { children: e.growing ? "It is being recorded; what it holds is shown as soon as it is written." : "It holds no trace that this page could show." }),
			/* @__PURE__ */ W("p", {
				class: "next",
				children: [
					e.behaviour && /* @__PURE__ */ W("a", {
						class: "button primary",
						href: bt({
							at: "compare",
							query: { new: e.name }
						}),
						children: "Compare it with another run"
					}),
					e.counters.length > 0 && /* @__PURE__ */ W("a", {
						class: "button",
						href: bt({
							at: "run",
							run: e.name,
							page: "kernels",
							query: {}
						}),
						children: "Its counters"
					}),
					/* @__PURE__ */ W("a", {
						href: "#/",
						children: "All runs"
					})
				]
			})
		]
	});
}
// src/app/routing/title.ts
function by(e) {
	switch (e.at) {
		case "home": return "Runs · timesink";
		case "run": return `${Nt(e.page)} · ${e.run} · timesink`;
		case "compare": {
			let { base: t, new: n } = e.query;
			return t && n ? `${t} → ${n} · timesink` : "Compare · timesink";
		}
		case "unknown": return "No such page · timesink";
	}
}
// src/app/runs/useRuns.ts
var xy = 2e3;
function Sy(e) {
	let [t, n] = B({
		listing: void 0,
		error: null,
		contact: 0
	}), [r, i] = De((e, t) => e + 1, 0);
	return V(() => {
		let t, r = null;
		async function i() {
			clearTimeout(t), r?.abort();
			let a = new AbortController();
			r = a;
			try {
				let t = await e.json("runs", {}, { signal: a.signal });
				a.signal.aborted || n((e) => Cy(e, t));
			} catch (e) {
				if (a.signal.aborted) return;
				n((t) => ({
					...t,
					error: Ye(e)
				}));
			}
			!document.hidden && !a.signal.aborted && (t = setTimeout(i, xy));
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
function Cy(e, t) {
	let n = e.listing?.generation === t.generation;
	return n && !e.error ? e : {
		listing: n ? e.listing : t,
		error: null,
		contact: e.contact + +!!e.error
	};
}
// src/app/App.tsx
function wy({ base: e }) {
	let t = ke(() => qe(e), [e]), n = ke(() => new tt(), []), r = Mt(), { listing: i, error: a, contact: o, retry: s } = Sy(t), [c, l] = B(!1), u = H(null), d = r.at === "run" && r.page === "trace";
	return it(u, Ct(r)), on(Ae(() => l(!0), []), d), V(() => {
		document.title = by(r), gt(location.hash);
	}), /* @__PURE__ */ W(rt, {
		value: {
			base: e,
			client: t,
			cache: n,
			route: r,
			listing: i,
			contact: o
		},
		children: /* @__PURE__ */ W("div", {
			class: `app ${d ? "fills" : ""}`,
			children: [
				/* @__PURE__ */ W("button", {
					type: "button",
					class: "skip button",
					onClick: () => u.current?.focus(),
					children: "Skip to the content"
				}),
				/* @__PURE__ */ W(Zt, { onHelp: () => l(!0) }),
				a && i && /* @__PURE__ */ W("p", {
					class: "notice-bar lost",
					role: "alert",
					children: [
						a.message,
						" ",
						a.hint
					]
				}),
				/* @__PURE__ */ W("main", {
					ref: u,
					tabIndex: -1,
					children: [
						i && /* @__PURE__ */ W(Ty, { route: r }),
						!i && !a && /* @__PURE__ */ W(ln, {
							progress: null,
							what: "the list of runs"
						}),
						!i && a && /* @__PURE__ */ W(un, {
							error: a,
							onRetry: s
						})
					]
				}),
				/* @__PURE__ */ W(rn, {
					open: c,
					onClose: () => l(!1)
				})
			]
		})
	});
}
function Ty({ route: e }) {
	switch (e.at) {
		case "home": return /* @__PURE__ */ W(yh, {});
		case "compare": return /* @__PURE__ */ W(ch, {});
		case "run": return /* @__PURE__ */ W(_y, { route: e });
		case "unknown": return /* @__PURE__ */ W(oh, { path: e.path });
	}
}
// src/app/main.tsx
var Ey = "timesink-app", Dy = import.meta.url, Oy = new URL("..", Dy);
async function ky() {
	document.querySelector("base")?.remove(), _t(), ue(ce()), de(), jy(), F(/* @__PURE__ */ W(wy, { base: Oy }), Ay());
}
function Ay() {
	let e = document.getElementById(Ey);
	if (e?.replaceChildren(), e) return e;
	let t = document.createElement("div");
	return t.id = Ey, document.body.append(t), t;
}
function jy() {
	let e = new URL("static/app.css", Oy).href;
	if ([...document.querySelectorAll("link[rel=stylesheet]")].some((t) => t.href === e)) return;
	let t = document.createElement("link");
	Object.assign(t, {
		rel: "stylesheet",
		href: e
	}), document.head.append(t);
}
document.getElementById(Ey) && ky();
export { ky as render };
